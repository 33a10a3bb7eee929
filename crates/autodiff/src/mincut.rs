//! Minimum cut in a directed graph with capacities, by Dinic's maximum flow.
//!
//! [`checkpoint`](crate::checkpoint) uses it to decide which values to store. Of all minimum cuts, it returns the one nearest
//! to the source. There, parameters win ties against values computed from them.

/// A capacity that no cut pays: an edge that must not be cut.
pub const INFINITE: u64 = 1 << 60;

/// A node of a [`Network`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node(u32);

struct Edge {
    to: Node,
    /// What may still flow.
    left: u64,
}

/// A graph under construction. Edge `2i + 1` is the way back of edge `2i`.
pub struct Network {
    edges: Vec<Edge>,
    out: Vec<Vec<u32>>,
}

/// Where everything flows from.
pub const SOURCE: Node = Node(0);
/// Where everything flows to.
pub const SINK: Node = Node(1);

impl Default for Network {
    fn default() -> Self {
        Network { edges: Vec::new(), out: vec![Vec::new(), Vec::new()] }
    }
}

/// The side of the source.
pub struct Cut {
    /// What it costs; [`INFINITE`] or more if an edge that must not be cut had to be.
    pub cost: u64,
    near: Vec<bool>,
}

impl Cut {
    /// Whether `node` is on the source's side.
    pub fn is_near_source(&self, node: Node) -> bool {
        self.near[node.0 as usize]
    }
}

impl Network {
    /// Another node.
    pub fn node(&mut self) -> Node {
        self.out.push(Vec::new());
        Node(self.out.len() as u32 - 1)
    }

    /// An edge. Capacities above [`INFINITE`] count as infinite.
    pub fn edge(&mut self, from: Node, to: Node, capacity: u64) {
        for (from, to, left) in [(from, to, capacity.min(INFINITE)), (to, from, 0)] {
            self.out[from.0 as usize].push(self.edges.len() as u32);
            self.edges.push(Edge { to, left });
        }
    }

    /// The cheapest set of edges without which nothing reaches the sink.
    pub fn cut(mut self) -> Cut {
        let mut cost = 0u64;
        loop {
            let level = self.levels();
            if level[SINK.0 as usize] == u32::MAX || cost >= INFINITE {
                return Cut { cost, near: level.iter().map(|l| *l != u32::MAX).collect() };
            }
            cost = cost.saturating_add(self.blocking_flow(&level));
        }
    }

    /// Distances from the source along edges that still carry something.
    fn levels(&self) -> Vec<u32> {
        let mut level = vec![u32::MAX; self.out.len()];
        level[SOURCE.0 as usize] = 0;
        let mut queue = std::collections::VecDeque::from([SOURCE]);
        while let Some(node) = queue.pop_front() {
            for &edge in &self.out[node.0 as usize] {
                let Edge { to, left } = self.edges[edge as usize];
                if left > 0 && level[to.0 as usize] == u32::MAX {
                    level[to.0 as usize] = level[node.0 as usize] + 1;
                    queue.push_back(to);
                }
            }
        }
        level
    }

    /// Pushes flow along shortest paths until none is left. Iterative: chains of values can be long.
    fn blocking_flow(&mut self, level: &[u32]) -> u64 {
        let mut next = vec![0usize; self.out.len()];
        let mut total = 0u64;
        let mut path: Vec<u32> = Vec::new();
        let mut node = SOURCE;
        loop {
            if node == SINK {
                total = total.saturating_add(self.push(&path));
                path.clear();
                node = SOURCE;
                if total >= INFINITE {
                    return total;
                }
            }
            match self.step(node, level, &mut next) {
                Some(edge) => {
                    path.push(edge);
                    node = self.edges[edge as usize].to;
                }
                None => {
                    let Some(edge) = path.pop() else { return total };
                    node = self.edges[edge as usize ^ 1].to;
                    next[node.0 as usize] += 1;
                }
            }
        }
    }

    /// The next edge out of `node` that leads one level down and is not yet full.
    fn step(&self, node: Node, level: &[u32], next: &mut [usize]) -> Option<u32> {
        let at = node.0 as usize;
        while let Some(&edge) = self.out[at].get(next[at]) {
            let Edge { to, left } = self.edges[edge as usize];
            if left > 0 && level[to.0 as usize] == level[at] + 1 {
                return Some(edge);
            }
            next[at] += 1;
        }
        None
    }

    /// Sends as much as fits along `path`.
    fn push(&mut self, path: &[u32]) -> u64 {
        let flow = path.iter().map(|e| self.edges[*e as usize].left).min().unwrap_or(0);
        for &edge in path {
            self.edges[edge as usize].left -= flow;
            self.edges[edge as usize ^ 1].left += flow;
        }
        flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_edge_of_a_chain_is_cut() {
        let mut net = Network::default();
        let (a, b) = (net.node(), net.node());
        net.edge(SOURCE, a, 5);
        net.edge(a, b, 2);
        net.edge(b, SINK, 7);
        let cut = net.cut();
        assert_eq!(cut.cost, 2);
        assert!(cut.is_near_source(a) && !cut.is_near_source(b));
    }

    #[test]
    fn a_tie_is_cut_near_the_source() {
        let mut net = Network::default();
        let (a, b) = (net.node(), net.node());
        net.edge(SOURCE, a, INFINITE);
        net.edge(a, b, 4);
        net.edge(b, SINK, 4);
        assert!(!net.cut().is_near_source(b));
    }

    #[test]
    fn two_ways_through_a_shared_node_are_cut_where_they_meet() {
        // The flow has to be rerouted: a greedy choice of the first path finds 1, not 2.
        let mut net = Network::default();
        let [a, b, c, d] = std::array::from_fn(|_| net.node());
        for (from, to) in [(SOURCE, a), (SOURCE, b), (a, c), (a, d), (b, c), (c, SINK), (d, SINK)] {
            net.edge(from, to, 1);
        }
        assert_eq!(net.cut().cost, 2);
    }

    #[test]
    fn what_must_not_be_cut_makes_the_cost_infinite() {
        let mut net = Network::default();
        let a = net.node();
        net.edge(SOURCE, a, INFINITE);
        net.edge(a, SINK, INFINITE);
        assert!(net.cut().cost >= INFINITE);
    }

    #[test]
    fn a_random_network_costs_what_the_best_of_all_cuts_costs() {
        // Second source: all 2^6 ways to split six nodes.
        let mut state = 12345u64;
        let mut random = move |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for _ in 0..200 {
            let edges: Vec<(usize, usize, u64)> =
                (0..18).map(|_| (random(8) as usize, random(8) as usize, random(9))).collect();
            let mut net = Network::default();
            let nodes: Vec<Node> = [SOURCE, SINK].into_iter().chain((0..6).map(|_| net.node())).collect();
            for &(from, to, capacity) in &edges {
                net.edge(nodes[from], nodes[to], capacity);
            }
            let cost = |near: usize| -> u64 {
                let is_near = |n: usize| n == 0 || (n > 1 && near >> (n - 2) & 1 == 1);
                edges.iter().filter(|(f, t, _)| is_near(*f) && !is_near(*t)).map(|e| e.2).sum()
            };
            let best = (0..64).map(cost).min().unwrap();
            assert_eq!(net.cut().cost, best);
        }
    }
}
