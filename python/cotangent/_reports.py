"""What the compiler says about derivatives, for people: as text and in notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Check:
    """What comparing derivatives with differences found. It is true if they agree."""

    function: str
    outcome: str
    points: int
    error: float
    why: str

    def __bool__(self) -> bool:
        return self.outcome == "agrees"

    def __str__(self) -> str:
        return f"{self.function}: {self.outcome} at {self.points} points, largest difference {self.error:.2g} ({self.why})"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.function)}</b>: {escape(str(self)[len(self.function) + 2:])}</p>"


class Report:
    """What a backward derivative costs: `bytes` kept, what is `kept`, and what is `repeated`."""

    def __init__(self, function: str, found: dict):
        self.function = function
        self.bytes: int = found["bytes"]
        self.kept: list[tuple[str, str, int, str]] = found["kept"]
        self.repeated: list[str] = found["repeated"]
        self.primal_instructions: int = found["primal_instructions"]
        self.backward_instructions: int = found["backward_instructions"]

    def __str__(self) -> str:
        lines = [f"{self.function}: keeps {self.bytes} bytes"]
        lines += [f"  {name}: {ty}, {size} bytes, {why}" for name, ty, size, why in self.kept]
        if self.repeated:
            lines.append(f"  computed again: {', '.join(self.repeated)}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(ty)}</td><td>{size}</td><td>{escape(why)}</td></tr>"
            for name, ty, size, why in self.kept
        )
        head = f"<p><b>{escape(self.function)}</b> keeps {self.bytes} bytes</p>"
        return f"{head}<table><tr><th>value</th><th>type</th><th>bytes</th><th>why</th></tr>{rows}</table>"
