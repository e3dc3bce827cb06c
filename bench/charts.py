"""Draws the charts of `docs/benchmarks.md` from JSON on standard input: `python bench/charts.py FOLDER < charts.json`.

The plotting library is installed into an environment of its own under `bench/peers/`; this file then runs itself there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

REQUIREMENT = "matplotlib==3.11.2"
# Whoever is in several charts has one colour in all of them; the others take what is left, in their order.
_COLOURS = {"toolcrib": "#2a6f97", "fastmcp": "#e07a2f", "contextweaver": "#7b6fa8", "mcp-proxy": "#4f9d69"}
_OTHER_COLOURS = ("#8ab6d1", "#b0413e", "#8a8a8a", "#c9a227", "#3d3d3d")
_INCHES = (7.2, 4.0)


def main() -> None:
    """Draw, if the library is here; else find the environment that has it, and draw there."""
    try:
        import matplotlib as mpl
    except ImportError:
        _elsewhere()
        return
    mpl.use("svg")
    # Text stays text, and nothing in the file differs between two runs over the same figures.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "toolcrib", "font.family": "sans-serif"})
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for chart in json.load(sys.stdin):
        _draw(chart, folder / f"{chart['name']}.svg")


def _elsewhere() -> None:
    from peer_environments import environment, reason

    try:
        python = environment("matplotlib", REQUIREMENT, install=True) / "python"
    except (OSError, subprocess.SubprocessError) as failure:
        sys.exit(f"{REQUIREMENT} cannot be had: {reason(failure)}")
    raise SystemExit(subprocess.run([str(python), __file__, *sys.argv[1:]], check=False).returncode)


def _draw(chart: dict[str, Any], file: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=_INCHES, layout="constrained")
    (_lines if chart["kind"] == "lines" else _bars)(axes, chart)
    axes.set_title(chart["title"], loc="left", fontweight="bold")
    axes.set_xlabel(chart["x"])
    axes.set_ylabel(chart["y"])
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    # On a dark page, too: the ground is part of the picture.
    figure.savefig(file, facecolor="white", metadata={"Date": None})
    pyplot.close(figure)


def _lines(axes: Any, chart: dict[str, Any]) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    colours = _colours(chart)
    for name, points in chart["series"].items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name, color=colours[name], linewidth=2)
    for axis, scaled in ((axes.xaxis, chart["log_x"]), (axes.yaxis, chart["log_y"])):
        if scaled:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    if chart["log_x"]:
        axes.set_xticks(sorted({x for points in chart["series"].values() for x, _ in points}))
        axes.xaxis.set_minor_locator(NullLocator())
    if not chart["log_y"]:
        axes.set_ylim(bottom=0)


def _bars(axes: Any, chart: dict[str, Any]) -> None:
    groups = list(dict.fromkeys(group for points in chart["series"].values() for group, _ in points))
    # Within a group the bars stand side by side, with no room for those that have no figure there.
    members = {group: [name for name, points in chart["series"].items() if group in dict(points)] for group in groups}
    width = 0.8 / len(chart["series"])
    colours = _colours(chart)
    for name, points in chart["series"].items():
        at = [
            groups.index(each) + width * (members[each].index(name) + 0.5 - len(members[each]) / 2)
            for each, _ in points
        ]
        bars = axes.bar(at, [height for _, height in points], width, label=name, color=colours[name])
        if len(groups) <= 4:
            axes.bar_label(bars, fmt="%.3g", fontsize=8)
    axes.set_xticks(range(len(groups)), [group.replace("_", "_\n") for group in groups])


def _colours(chart: dict[str, Any]) -> dict[str, str]:
    others = iter(_OTHER_COLOURS)
    return {name: _COLOURS.get(name.split(" ")[0]) or next(others, "#000000") for name in chart["series"]}


if __name__ == "__main__":
    main()
