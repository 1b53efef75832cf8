"""The library's refusals in the command line's words: its parameters are named as the options and arguments that they came by."""

import re
from typing import Any

import typer

import dmsjournal as dj

_MENTIONED = re.compile(r"`(\w+)`|\b([a-z]+(?:_[a-z]+)+)\b")  # in backticks, or a word that only a parameter can be


def worded(error: dj.InvalidRequest, ctx: Any) -> Exception:
    """The refusal for who gave the command: bad usage where options do not go together, else an error of one line."""
    options = {_plain(option.name): option for option in ctx.command.params}
    subject = _subject(error, options, ctx)
    remedy = _MENTIONED.sub(lambda found: _mentioned(found, options), str(error.remedy))
    if error.others:
        return typer.BadParameter(remedy, ctx, param_hint=subject)
    shown = str(dj.InvalidRequest(subject, error.value, remedy))
    if error.value is None or isinstance(error.value, bool):  # a flag's value is in its name
        shown = f"{subject}: {remedy}"
    told = dj.JournalError(shown)
    for note in getattr(error, "__notes__", []):
        told.add_note(note)
    return told


def _subject(error: dj.InvalidRequest, options: dict[str, Any], ctx: Any) -> str:
    """The name of what was given: by the parameter's name, which may be a plural, or by the value that was refused."""
    parts = error.parameter.split(", ")
    if len(parts) > 1:
        return ", ".join(_name(options[part]) if part in options else part for part in parts)
    for name in (_plain(error.parameter), _plain(error.parameter).removesuffix("s")):
        if error.value is False and f"no_{name}" in options:  # an option with a value, and a flag for none
            return _name(options[f"no_{name}"])
        if name in options:
            return _name(options[name], error.value)
    given = [option for option in options.values() if _was_given(option, error.value, ctx)]
    return _name(given[0], error.value) if len(given) == 1 else error.parameter


def _was_given(option: Any, value: object, ctx: Any) -> bool:
    if value is None or isinstance(value, bool) or ctx.get_parameter_source(option.name).name != "COMMANDLINE":
        return False
    given = ctx.params.get(option.name)
    return str(value) in (map(str, given) if isinstance(given, list | tuple) else [str(given)])


def _mentioned(found: "re.Match[str]", options: dict[str, Any]) -> str:
    name = found[1] or found[2]
    return _name(options[name]) if name in options else found[0]


def _name(option: Any, value: object = None) -> str:
    """As it is written on a command line: --through, --no-body; an argument's plain name."""
    if option.param_type_name == "argument":
        return _plain(option.name)
    opts = option.secondary_opts if value is False and option.secondary_opts else option.opts
    return str(max(opts, key=len))


def _plain(name: str) -> str:
    """A parameter's name in Python without what Python needs, such as the line below of min_."""
    return name.replace("-", "_").rstrip("_")
