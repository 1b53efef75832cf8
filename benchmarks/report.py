"""Results as JSON for machines and as a Markdown table for people: both sides of a row are from one run."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.facts import Facts


@dataclass(frozen=True)
class Row:
    """One measure: seconds of each run by variant, and the command that prints this row."""

    measure: str
    command: str
    runs: dict[str, list[float]] = field(default_factory=dict)

    def add(self, variant: str, seconds: float) -> None:
        self.runs.setdefault(variant, []).append(seconds)

    def median(self, variant: str) -> float:
        return median(self.runs[variant])

    def ratio(self, above: str, below: str) -> float:
        return self.median(above) / self.median(below)


@dataclass(frozen=True)
class Table:
    """Rows that have the same variants; each of `ratios` is (above, below), how many times the first takes longer."""

    title: str
    variants: tuple[str, ...]
    ratios: tuple[tuple[str, str], ...]
    rows: list[Row] = field(default_factory=list)
    unit: str = "seconds"

    def row(self, measure: str, command: str) -> Row:
        """The row of a measure; runs of one measure are added to one row."""
        found = next((row for row in self.rows if row.measure == measure), None)
        if found is None:
            found = Row(measure, command)
            self.rows.append(found)
        return found

    def markdown(self) -> str:
        heads = [self.title, *self.variants, *(f"{above} / {below}" for above, below in self.ratios), "command"]
        lines = [heads, ["---", *["---:"] * (len(heads) - 2), "---"]]
        for row in self.rows:
            medians = [self.shown(row.median(variant)) for variant in self.variants]
            ratios = [f"{row.ratio(above, below):.3g}" for above, below in self.ratios]
            lines.append([row.measure, *medians, *ratios, f"`{row.command}`"])
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def shown(self, value: float) -> str:
        if self.unit == "seconds":
            return duration(value)
        return f"{value:,.0f} {self.unit}" if value == round(value) else f"{value:.2f} {self.unit}"


def duration(seconds: float) -> str:
    """Two digits and a unit: 3.1 s, 30 ms, 73 µs, 40 ns."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= size or unit == "ns":
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    raise AssertionError


def write(path: Path, found: Facts, parameters: dict[str, object], tables: list[Table]) -> str:
    """Write `path` and a Markdown page of the same name; returns the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    result = {"facts": found, "parameters": parameters, "tables": [asdict(table) for table in tables]}
    path.write_text(json.dumps(result, indent=1) + "\n")
    setting = ", ".join(f"{name} {value}" for name, value in found.items())
    page = "\n\n".join([*(table.markdown() for table in tables), f"Medians. Measured with {setting}."]) + "\n"
    path.with_suffix(".md").write_text(page)
    return page
