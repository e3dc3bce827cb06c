"""Templates: what they may say, what they become, and that nothing in them runs for long."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loading_packs import CHILDREN, places, violations, write

from toolcrib_toolpacks import TemplateError, compile_template
from toolcrib_toolpacks.template_rules import TemplateNames
from toolcrib_toolpacks.templating import MAX_RENDERED_CHARACTERS

NAMES = TemplateNames(
    context={"lang": "en", "deep": {"list": [1, "two"]}},
    env=frozenset({"TOKEN"}),
    inputs=frozenset({"city", "days", "items", "list", "flag", "half"}),
)
VALUES: Mapping[str, Any] = {
    "input": {"city": "Ulm", "days": None, "items": "of a mapping", "list": ["a", 2, True], "flag": True, "half": 0.5},
    "env": {"TOKEN": "t0k"},
}


@pytest.mark.req("TP-26")
@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("plain", "plain"),
        ("a { b } % # c", "a { b } % # c"),
        ("--city={{ input.city }}", "--city=Ulm"),
        ("{{ input['city'] }}/{{ input.list[1] }}", "Ulm/2"),
        ("{{ input.flag }} {{ input.half }}", "true 0.5"),
        ("{{ input.items }}", "of a mapping"),
        ("{{ context.deep.list[1] }}-{{ context.lang | upper }}", "two-EN"),
        ("Bearer {{ env.TOKEN }}", "Bearer t0k"),
        ("{{ input.days | default('3') }}{{ input.more | d('x') }}", "3x"),
        ("{{ input.list | join('+') }} {{ input.list | length }}", "a+2+true 3"),
        ("{{ input.list | first }}{{ input.list | last }}", "atrue"),
        ("{{ input.city | lower | trim }}", "ulm"),
        ("{{ input.list | tojson }}", '["a",2,true]'),
        ("{% if input.days is none %}no{% elif input.flag %}yes{% else %}?{% endif %}", "no"),
        ("{{ 'x' if input.flag and not input.days else 'y' }}", "x"),
        ("{{ 'in' if 'a' in input.list else 'out' }}", "in"),
        ("{{ input.city == 'Ulm' }}", "true"),
        ("{% raw %}{{ untouched }}{% endraw %}{# gone #}", "{{ untouched }}"),
        ("line\n", "line\n"),
    ],
)
def test_a_template_becomes_one_text(text: str, rendered: str) -> None:
    names = TemplateNames(context=NAMES.context, env=NAMES.env, inputs=None)

    assert compile_template(text, names=names).render(VALUES) == rendered


@pytest.mark.req("TP-26")
@pytest.mark.fault("C6")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ ''.__class__.__mro__ }}", "is not a name"),
        ("{{ input.__class__ }}", "`__class__` is not a name"),
        ("{{ input['__class__'] }}", "`__class__` is not a name"),
        ("{{ input.city.__len__ }}", "`__len__` is not a name"),
        ("{{ config }}", "`config` is not known"),
        ("{{ self }}", "`self` is not known"),
        ("{{ request.args }}", "`request` is not known"),
        ("{{ lipsum }}", "`lipsum` is not known"),
        ("{{ cycler() }}", "a call"),
        ("{{ input.city.upper() }}", "a call"),
        ("{{ range(10) | join }}", "a call"),
        ("{{ 9**(9**9) }}", "arithmetic"),
        ("{{ 'a' * 10**9 }}", "arithmetic"),
        ("{{ input.city * 1000000 }}", "arithmetic"),
        ("{{ -1 }}", "arithmetic"),
        ("{{ input.city ~ input.city }}", "`~`"),
        ("{% for x in input.list %}{{ x }}{% endfor %}", "a loop"),
        ("{% for i in range(10**6) %}{% for j in range(10**6) %}{% endfor %}{% endfor %}", "a loop"),
        ("{% set x = 1 %}", "an assignment"),
        ("{% macro m() %}{% endmacro %}", "a macro"),
        ("{% include '/etc/passwd' %}", "Include"),
        ("{% import 'os' as os %}", "Import"),
        ("{% extends 'x' %}", "Extends"),
        ("{% block b %}{% endblock %}", "Block"),
        ("{{ [1, 2] }}", "a list"),
        ("{{ {'a': 1} }}", "a mapping"),
        ("{{ input.city[0:2] }}", "a slice"),
        ("{{ input.city | attr('x') }}", "`attr` is not known"),
        ("{{ input.city | replace('a', 'bbbb') }}", "`replace` is not known"),
        ("{{ input.city | uper }}", "Did you mean `upper`?"),
        ("{{ input.city is divisibleby 3 }}", "`divisibleby` is not known"),
        ("{{ input.list | join(d='x') }}", "no named arguments"),
        ("{{ env.PATH }}", "neither passes nor sets"),
        ("{{ env }}", "as a whole"),
        ("{{ env | tojson }}", "as a whole"),
        ("{{ env[input.city] }}", "must name each variable"),
        ("{{ input }}", "as a whole"),
        ("{{ input.town }}", "`inputSchema` has no such property"),
        ("{{ input.cty }}", "Did you mean `input.city`?"),
        ("{{ context.language }}", "has no such key"),
        ("{{ input.city", "cannot be read"),
        ("{% if %}", "cannot be read"),
        ("{% frob %}", "cannot be read"),
        ("{{ " + "(" * 2000 + "1" + ")" * 2000 + " }}", "too deep"),
        ("{{ " + "not " * 2000 + "1 }}", "too deep"),
        ("{{ " + "not " * 40 + "1 }}", "too large"),
        ("{{ 1 }}" * 500, "too large"),
        ("x" * 9000, "8,192"),
    ],
)
def test_a_template_that_says_more_than_it_may_is_refused_when_it_is_loaded(text: str, why: str) -> None:
    started = time.process_time()

    with pytest.raises(TemplateError) as caught:
        compile_template(text, names=NAMES)

    assert why in str(caught.value)
    assert caught.value.code == "toolbox.template-error"
    assert time.process_time() - started < 2  # the promise is 100 ms


@pytest.mark.req("TP-26")
@pytest.mark.fault("C6")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ input.more }}", "no value for `more`"),
        ("{{ input.more.deeper }}", "no value for `more`"),
        ("{{ input.list[7] }}", "no value for `7`"),
        ("{{ input.city.nothing }}", "no value for `nothing`"),
        ("{{ input.list['x'] }}", "no value for `x`"),
        ("{{ [] if false else input.none_of | first }}", "a list"),
        ("{{ input.empty | first }}{{ input.empty | last }}", "no value for `the first item`"),
        ("{{ input.empty | last }}", "no value for `the last item`"),
        ("{{ input.days }}", "would write null"),
        ("{{ input.list }}", "would write a list of 3 items"),
        ("{{ context.deep }}", "would write an object"),
        ("{{ input.city | join }}", "needs a list"),
        ("{{ input.gone | join }}", "no value for `gone`"),
        ("{{ input.half < input.city }}", "cannot be compared"),
        ("{{ input.big }}{{ input.big }}", "longer than"),
        ("{{ input.many | join(input.long) }}", "longer than"),
    ],
)
def test_a_call_that_does_not_give_what_a_template_needs_is_refused_without_its_values(text: str, why: str) -> None:
    names = TemplateNames(context=NAMES.context)
    given_values = {
        **VALUES["input"],
        "empty": [],
        "big": "s3cret" * 8000,
        "many": ["x"] * 30_000,
        "long": "s3cret" * 5000,
    }

    with pytest.raises(TemplateError) as caught:
        compile_template(text, names=names).render({"input": given_values})

    assert why in str(caught.value)
    assert "s3cret" not in str(caught.value.to_dict())


@pytest.mark.req("TP-26")
@pytest.mark.fault("C8")
@given(value=st.text(max_size=40))
def test_a_value_in_a_url_stays_within_its_part(value: str) -> None:
    value = value.encode("utf-8", "replace").decode()
    template = compile_template("https://example.com/a/{{ input.x }}?q={{ input.x }}", use="url")

    try:
        url = template.render({"input": {"x": value}})
    except TemplateError:
        assert value in {".", ".."}
        return

    path, _, query = url.removeprefix("https://example.com/a/").partition("?")
    assert (unquote(path), unquote(query.removeprefix("q="))) == (value, value)
    assert not set("/#&?\r\n ") & set(path)


@pytest.mark.req("TP-26")
@pytest.mark.fault("C8")
@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\x00b", "a\x7fb", "a\tb"])
def test_a_line_break_in_a_header_is_refused(value: str) -> None:
    template = compile_template("Bearer {{ input.x }}", use="header")

    with pytest.raises(TemplateError, match="line break"):
        template.render({"input": {"x": value}})


@pytest.mark.req("TP-26")
@pytest.mark.fault("C7")
def test_a_value_in_a_command_line_is_taken_as_it_is_but_for_nul() -> None:
    template = compile_template("{{ input.x }}")

    for value in ("; rm -rf /", "$(id)", "`id`", "a\nb", "--output=/etc/x", "{{ 7 * 7 }}", "{% if x %}"):
        assert template.render({"input": {"x": value}}) == value
    with pytest.raises(TemplateError, match="NUL"):
        template.render({"input": {"x": "a\x00b"}})


@pytest.mark.req("TP-26")
@pytest.mark.parametrize(
    ("text", "starts", "inputs", "variables"),
    [
        ("plain", False, set(), set()),
        ("{{ input.a }}", True, {"a"}, set()),
        ("--x={{ input.a }}{{ input['b'] }}", False, {"a", "b"}, set()),
        ("{% if input.a %}x{% endif %}", True, {"a"}, set()),
        ("k {{ env.TOKEN }}", False, set(), {"TOKEN"}),
        ("{# note #}x", False, set(), set()),
    ],
)
def test_a_template_tells_what_it_reads(text: str, starts: bool, inputs: set[str], variables: set[str]) -> None:  # noqa: FBT001  # a case
    template = compile_template(text, names=TemplateNames(env=NAMES.env))

    assert (template.starts_with_value, template.inputs, template.variables) == (starts, inputs, variables)
    assert template.is_literal == ("{{" not in text and "{%" not in text and "{#" not in text)


@pytest.mark.req("TP-26")
@given(st.text(alphabet="{}%#|.()[]'\"~*+-_ inputcoexdvfr019ab\n", max_size=80))
def test_no_text_makes_a_template_fail_in_another_way(text: str) -> None:
    try:
        rendered = compile_template(text).render({"input": {"a": "b", "in": [1]}, "env": {}})
    except TemplateError:
        return
    assert len(rendered) <= MAX_RENDERED_CHARACTERS


@pytest.mark.req("TP-8", "TP-26")
@pytest.mark.fault("C6")
def test_templates_are_checked_wherever_a_pack_has_them(tmp_path: Path) -> None:
    bad = "{{ input.__class__ }}"
    cli = {"kind": "cli", "cmd": ["echo", bad]}
    url = f"https://example.com/{bad}"
    write(tmp_path, {"id": "a.cli", "execution": cli, "caps": CHILDREN, "templating": {"cacheKey": bad}}, name="a")
    http = {"kind": "http", "url": url, "headers": {"X-A": bad}}
    write(tmp_path, {"id": "a.http", "execution": http, "caps": {"network": ["https"]}}, name="b")
    (tmp_path / "run.py").touch()
    write(tmp_path, {"id": "a.py", "execution": {"kind": "python", "script": "run.py", "args": [bad]}}, name="c")

    assert places(tmp_path) == [
        ("execution.cmd[1]", "template"),
        ("templating.cacheKey", "template"),
        ("execution.url", "template"),
        ("execution.headers.X-A", "template"),
        ("execution.args[0]", "template"),
    ]


@pytest.mark.req("TP-26")
def test_a_template_may_name_only_what_the_pack_has(tmp_path: Path) -> None:
    items = ["{{ input.city }}", "{{ context.a }}", "{{ env.LANG }}{{ env.B }}", "{{ input.town }}", "{{ env.HOME }}"]
    changes = {
        "execution": {"kind": "cli", "cmd": ["echo", *items]},
        "caps": CHILDREN,
        "env": {"passthrough": ["LANG"], "set": {"B": "1"}},
        "templating": {"context": {"a": 1}},
    }
    write(tmp_path, changes)

    assert [each.path for each in violations(tmp_path)] == ["execution.cmd[4]", "execution.cmd[5]"]
