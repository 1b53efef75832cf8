"""A status as a plot: how the journal grew, and how far its consumers are. As a picture, or as bars of text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dmsjournal.errors import InvalidRequest, UnsupportedCapability
from dmsjournal.operate.status import Sample, Status
from dmsjournal.util.printable import printable

FORMATS = (".png", ".svg", ".pdf")
WIDTH, HEIGHT = 1000, 700  # pixels of a PNG

_DPI = 100
_BINS = 20  # lines of the text's growth
_BAR = 40  # characters of its longest bar
_INK, _MUTED, _HUE, _ALARM = "#222222", "#777777", "#2a6fbb", "#c0392b"


def growth(status: Status, bins: int) -> list[tuple[datetime, int]]:
    """How many versions the journal grew by in equal spans of time, from its first event to now: the begin of each, and the count.

    Between two events of the history the growth is taken for even.
    """
    if not status.history:
        return []
    begin, end = status.history[0].at, max(status.at, status.history[-1].at)
    span = max((end - begin) / bins, timedelta(microseconds=1))
    reached = [_version_at(status.history, begin + span * border) for border in range(bins + 1)]
    reached[0] = status.history[0].change_version - 1  # the first event is growth too
    reached[-1] = status.history[-1].change_version
    return [(begin + span * place, max(0, round(reached[place + 1]) - round(reached[place]))) for place in range(bins)]


def _version_at(history: Sequence[Sample], time: datetime) -> float:
    before = history[0]
    for sample in history:
        if sample.at > time:
            share = (time - before.at) / (sample.at - before.at) if sample.at > before.at else 0.0
            return before.change_version + max(0.0, share) * (sample.change_version - before.change_version)
        before = sample
    return before.change_version


def as_text(status: Status, encoding: str | None = "utf-8") -> str:
    """Bars of text: growth over time, and each consumer's lag in versions. In ASCII where the encoding has no blocks."""
    block = "█" if _has(encoding, "█") else "#"
    lines = ["growth of the journal, in versions, by the time that a span begins (UTC)"]
    grown = growth(status, _BINS)
    lines += _bars([(f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}", count) for at, count in grown], block) or ["  no event is kept"]
    lines += ["", "lag of consumers, in versions"]
    lines += _bars([(printable(of.name), of.lag_versions) for of in status.consumers], block) or ["  no consumer is registered"]
    return "\n".join(lines)


def _bars(rows: Sequence[tuple[str, int]], block: str) -> list[str]:
    counts = [f"{count:,}" for _, count in rows]
    most = max((count for _, count in rows), default=0)
    label, number = (max((len(text) for text in texts), default=0) for texts in ([name for name, _ in rows], counts))
    return [
        f"  {name:<{label}}  {shown:>{number}}  {block * -(-count * _BAR // most) if count else ''}".rstrip()
        for (name, count), shown in zip(rows, counts, strict=True)
    ]


def _has(encoding: str | None, text: str) -> bool:
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def checked_plot(path: Path) -> Path:
    """The path, if it is one for a picture. Raises InvalidRequest; UnsupportedCapability where matplotlib is missing."""
    if path.suffix.lower() not in FORMATS:
        raise InvalidRequest("plot", str(path), f"end the file's name with {' or '.join(FORMATS)}, or write - for the terminal")
    if not path.parent.is_dir():
        raise InvalidRequest("plot", str(path), f"there is no folder {path.parent}: make it, or name another file")
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise UnsupportedCapability("a picture needs matplotlib", "pip install 'dmsjournal[plot]', or write --plot -") from error
    return path


def save(status: Status, path: Path) -> None:
    """Writes the picture; a PNG of WIDTH by HEIGHT pixels. Raises InvalidRequest where it cannot be written."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI, layout="constrained")
    upper, lower = figure.subplots(2, 1, height_ratios=[3, 2])
    figure.suptitle(f"{_plain(status.database)}, {status.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC", color=_INK)
    _draw_growth(upper, status)
    _draw_lag(lower, status)
    for axes in (upper, lower):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=_MUTED)
    try:
        figure.savefig(path, dpi=_DPI, format=path.suffix[1:].lower())
    except OSError as error:
        raise InvalidRequest("plot", str(path), f"it cannot be written: {error.strerror or error}") from error


def _draw_growth(axes: Any, status: Status) -> None:
    """Versions over time, and where each consumer is on that line."""
    axes.set_title("Growth of the journal", loc="left", color=_INK)
    axes.set_ylabel("version", color=_MUTED)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    if not status.history:
        axes.text(0.5, 0.5, "no event is kept", transform=axes.transAxes, ha="center", color=_MUTED)
        return
    times = [sample.at.astimezone(UTC) for sample in status.history]
    axes.plot(
        [*times, status.at.astimezone(UTC)], [*(s.change_version for s in status.history), status.newest], color=_HUE, linewidth=2
    )
    if status.oldest == 0:
        axes.set_ylim(bottom=0)
    for consumer in status.consumers:
        axes.axhline(consumer.change_version, color=_ALARM if consumer.is_expired else _MUTED, linewidth=1, linestyle=":")
        axes.annotate(_plain(consumer.name), (times[0], consumer.change_version), color=_INK, fontsize=9, va="bottom")


def _draw_lag(axes: Any, status: Status) -> None:
    """A bar a consumer, with its lag in words at its end."""
    axes.set_title("Lag of consumers", loc="left", color=_INK)
    axes.set_xlabel("versions behind the horizon", color=_MUTED)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    if not status.consumers:
        axes.text(0.5, 0.5, "no consumer is registered", transform=axes.transAxes, ha="center", color=_MUTED)
        axes.set_yticks([])
        return
    lags = [consumer.lag_versions for consumer in status.consumers]
    colours = [_ALARM if consumer.is_expired else _HUE for consumer in status.consumers]
    bars = axes.barh(range(len(lags)), lags, color=colours, height=0.6)
    axes.set_yticks(range(len(lags)), [_plain(consumer.name) for consumer in status.consumers])
    axes.bar_label(bars, [f" {lag:,}, {of.lag_seconds:,.0f} s" for lag, of in zip(lags, status.consumers, strict=True)], color=_INK)
    axes.set_xlim(0, max(1, *lags) * 1.2)
    axes.invert_yaxis()


def _plain(text: str) -> str:
    """A name that matplotlib takes as it is: it reads formulas between dollars."""
    return printable(text).replace("$", r"\$")
