"""Templates: what they may say, what they become, and that nothing in them runs for long."""

from __future__ import annotations

import json
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
from toolcrib_toolpacks.defaults import with_defaults
from toolcrib_toolpacks.template_rules import TemplateNames, absent_inputs
from toolcrib_toolpacks.templating import MAX_RENDERED_CHARACTERS, parse_template

HARD = 'a "quoted", {"text": 1}\n\\ and more'
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


@pytest.mark.req("CT-24")
@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        (
            "{{ input.rows[0].x + 1 }} {{ 7 / 2 }} {{ 7 // 2 }} {{ -input.half }} {{ 2 ** 10 }} {{ 7 % 4 }}",
            "2 3.5 3 -0.5 1024 3",
        ),
        ("{{ input.city ~ '-' ~ input.half ~ input.flag }}", "Ulm-0.5true"),
        (
            "{% for x in input.list %}{{ loop.index }}={{ x }}{% if not loop.last %},{% endif %}{% endfor %}",
            "1=a,2=2,3=true",
        ),
        ("{% for k, v in input.place.items() %}{{ k }}:{{ v | tojson }};{% endfor %}", 'zip:"89";at:[1,2];'),
        ("{% for x in [] %}{{ x }}{% else %}none{% endfor %}", "none"),
        ("{% for r in input.rows if r.x > 1 %}{{ r.y }}{% endfor %}", "b"),
        ("{% set n = input.rows | length %}{{ n * 2 }}{% with m = 1 %}{{ m }}{% endwith %}", "41"),
        ("{{ input.rows | map(attribute='y') | sort | join('+') }}", "a+b"),
        ("{{ input.rows | selectattr('x', 'gt', 1) | map(attribute='y') | first }}", "b"),
        ("{{ input.rows | groupby('y') | map(attribute='grouper') | join }}", "ab"),
        ("{{ input.rows | sum(attribute='x') }} {{ input.rows | map(attribute='x') | max }}", "3 2"),
        ("{{ input.city | replace('U', 'u') | title | center(5) }}|", " Ulm |"),
        ("{{ '%s has %d' | format(input.city, 3) }} {{ '{:>4}'.format(input.city) }}", "Ulm has 3  Ulm"),
        ("{{ input.city.upper() }} {{ input.city[:2] }} {{ 'a,b'.split(',') | tojson }}", 'ULM Ul ["a","b"]'),
        ("{{ input.city is string and input.half is number }} {{ 4 is divisibleby 2 }}", "true true"),
        ("{{ input.list | batch(2) | list | tojson }} {{ range(3) | join(',') }}", '[["a",2],[true]] 0,1,2'),
        ("{{ '12' | int + 1 }} {{ input.half | round(0) | int }}", "13 0"),
        ("{{ {'a': 1}.a }} {{ (1, 2) | join }} {{ dict(b=2).b }}", "1 12 2"),
        ("{{ input.town is defined }} {{ input.town.name | default('?') }}", "false ?"),
        ("{{ input.list | reject('string') | list | length }} {{ input.place | dictsort | first | first }}", "2 at"),
        ("a{{ 'never' if not input.flag }}b", "ab"),
        ("{{ input.place | tojson(indent=1) }}", '{\n "zip": "89",\n "at": [\n  1,\n  2\n ]\n}'),
    ],
)
def test_a_template_says_what_jinja_says(text: str, rendered: str) -> None:
    place = {"zip": "89", "at": [1, 2]}
    values = {**VALUES["input"], "place": place, "rows": [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]}

    assert compile_template(text).render({"input": values}) == rendered


@pytest.mark.req("CT-24", "TP-26")
@pytest.mark.fault("C6")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ ''.__class__.__mro__ }}", "is not a name"),
        ("{{ input.__class__ }}", "`__class__` is not a name"),
        ("{{ input['__class__'] }}", "`__class__` is not a name"),
        ("{{ input.city.__len__ }}", "`__len__` is not a name"),
        ("{{ range.__init__ }}", "`__init__` is not a name"),
        ("{{ config }}", "`config` is not known"),
        ("{{ self }}", "`self` is not known"),
        ("{{ loop.index }}", "`loop` is not known"),
        ("{{ request.args }}", "`request` is not known"),
        ("{{ lipsum }}", "`lipsum` is not known"),
        ("{{ 1e400 }}", "too large"),
        ("{{ " + "9" * 5000 + " }}", "too many digits"),
        ("{% set input = 1 %}", "cannot be assigned to"),
        ("{% macro m() %}{% endmacro %}", "a macro"),
        ("{% set x %}a{% endset %}", "a `set` block"),
        ("{% filter upper %}a{% endfilter %}", "a `filter` block"),
        ("{% for x in input.list recursive %}{% endfor %}", "a recursive loop"),
        ("{% include '/etc/passwd' %}", "`include`"),
        ("{% import 'os' as os %}", "`import`"),
        ("{% from 'os' import path %}", "`import`"),
        ("{% extends 'x' %}", "`extends`"),
        ("{% block b %}{% endblock %}", "a `block`"),
        ("{{ input.city | attr('x') }}", "`attr` is not known"),
        ("{{ input.city | random }}", "`random` is not known"),
        ("{{ input.city | uper }}", "Did you mean `upper`?"),
        ("{{ input.city is devisibleby 3 }}", "Did you mean `divisibleby`?"),
        ("{{ env.PATH }}", "neither passes nor sets"),
        ("{{ env }}", "must name each variable"),
        ("{{ env | tojson }}", "must name each variable"),
        ("{{ env[input.city] }}", "must name each variable"),
        ("{% for name in env %}{% endfor %}", "must name each variable"),
        ("{{ input }}", "as a whole"),
        ("{{ input.town }}", "`inputSchema` has no such property"),
        ("{{ input.cty }}", "Did you mean `input.city`?"),
        ("{{ context.language }}", "has no such key"),
        ("{{ input.city", "cannot be read"),
        ("{% if %}", "cannot be read"),
        ("{% frob %}", "cannot be read"),
        ("{{ " + "(" * 2000 + "1" + ")" * 2000 + " }}", "too deep"),
        ("{{ " + "not " * 2000 + "1 }}", "too deep"),
        ("{{ " + "not " * 80 + "1 }}", "too large"),
        ("{% for x in input.list %}" * 9 + "{% endfor %}" * 9, "too large"),
        ("{{ 1 }}" * 1100, "too large"),
        ("x" * 9000, "8,192"),
    ],
)
def test_a_template_that_names_what_there_is_not_is_refused_when_it_is_loaded(text: str, why: str) -> None:
    started = time.process_time()

    with pytest.raises(TemplateError) as caught:
        compile_template(text, names=NAMES)

    assert why in str(caught.value)
    assert caught.value.code == "toolbox.template-error"
    assert time.process_time() - started < 2  # the promise is 100 ms


DOUBLED = "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a ~ a %}" * 30
NESTED = "{% set a = [1] %}" + "{% set a = [a, a] %}" * 40


@pytest.mark.req("CT-24", "TP-26")
@pytest.mark.fault("C6")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ 9**(9**9) }}", "too large"),
        ("{{ 2.0 ** 9999 }}", "too large"),
        ("{% set n = namespace(x=9) %}{% for i in range(50) %}{% set n.x = n.x * n.x %}{% endfor %}", "too large"),
        ("{{ 1 / 0 }}", "divides by zero"),
        ("{{ 'a' * 10**9 }}", "longer than 1,048,576"),
        ("{{ [1] * 10**9 }}", "more than 100,000 steps"),
        ("{{ range(10**9) | length }}", "more than 100,000 steps"),
        ("{% for i in range(10**6) %}{% for j in range(10**6) %}{% endfor %}{% endfor %}", "more than 100,000 steps"),
        ("{% for i in range(9**4) %}{% for j in range(9**4) %}{% endfor %}{% endfor %}", "more than 100,000 steps"),
        ("{% for i in range(1000) %}" + "x" * 5000 + "{% endfor %}", "longer than 65,536"),
        (DOUBLED, "longer than 1,048,576"),
        (NESTED + "{{ a | tojson }}", "more than 100,000 steps"),
        (NESTED + "{{ a == a }}", "more than 100,000 steps"),
        ("{{ 'a' | center(10**10) }}", "longer than"),
        ("{{ 'a'.ljust(10**10) }}", "longer than"),
        ("{{ 'a' | indent(10**10) }}", "longer than"),
        ("{{ '%9999999999d' | format(1) }}", "wider than"),
        ("{{ '%9999999999d' % 1 }}", "wider than"),
        ("{{ '%*d' | format(10**9, 1) }}", "wider than"),
        ("{{ ('%s' * 4000) | format('x' * 9000) }}", "longer than"),
        ("{{ '{:9999999999}'.format(1) }}", "wider than"),
        ("{{ '{:{}}'.format(1, 10**9) }}", "wider than"),
        ("{{ ('{}' * 4000).format('x' * 9000) }}", "longer than|kinds"),
        ("{{ 5 | round(-10**9) }}", "rounds to more"),
        ("{{ [1] | batch(10**9) | list }}", "more than 100,000 steps"),
        ("{{ ('a' * 100000) | replace('a', 'b' * 100000) }}", "longer than"),
        ("{{ ('a' * 90000).replace('a', 'b' * 100000) }}", "longer than"),
        ("{{ range(99) | join('b' * 100000) }}", "longer than"),
        ("{{ ('b' * 100000).join('a b c d e f g h i j k l'.split()) }}", "longer than"),
        ("{{ ('a' * 100000) | wordwrap(1, wrapstring='b' * 100000) }}", "longer than"),
        ("{{ [[1]] | sum(start=[]) }}", "other than numbers"),
    ],
)
def test_a_template_without_an_end_or_a_bound_is_stopped(text: str, why: str) -> None:
    started = time.process_time()

    with pytest.raises(TemplateError, match=why) as caught:
        compile_template(text).render({"input": {}})

    assert caught.value.code == "toolbox.template-error"
    assert time.process_time() - started < 5  # the bound is one second


@pytest.mark.req("CT-24")
def test_a_template_that_takes_too_long_is_stopped() -> None:
    ticks = iter(float(number) / 4 for number in range(100))
    template = compile_template("{% for x in input.list %}{{ x }}{% endfor %}")

    with pytest.raises(TemplateError, match="longer than 1 s"):
        template.fill({"input": {"list": list(range(50))}}, clock=lambda: next(ticks))


@pytest.mark.req("CT-24", "TP-26")
@pytest.mark.fault("C6")
@pytest.mark.parametrize(
    "text",
    [
        "{{ ''['_' ~ '_class_' ~ '_'] }}",
        "{{ '{0.__class__}'.format(input.city) }}",
        "{{ '{0.__class__}' | format(input.city) }}{{ input.gone }}",
        "{{ dict.fromkeys }}",
        "{{ input.list.append(1) }}",
        "{{ input.place.update({'a': 1}) }}",
        "{{ input.city.encode() }}",
        "{{ cycler(1).items }}",
        "{{ input.city.format.func_globals }}",
        "{{ input.rows | map(attribute='__class__') | list | tojson }}",
        "{{ input.rows | map('attr', 'x') | list }}",
    ],
)
def test_nothing_of_python_can_be_reached(text: str) -> None:
    values = {**VALUES["input"], "rows": [{"x": 1}], "place": {}}

    with pytest.raises(TemplateError):
        compile_template(text).render({"input": values})


@pytest.mark.req("CT-24")
@pytest.mark.parametrize(
    ("text", "body"),
    [
        (
            '{"t": {{ input.x }}, "l": {{ input.list }}, "n": {{ input.days }}}',
            {"t": HARD, "l": ["a", 2, True], "n": None},
        ),
        ('{"t": "<{{ input.x }}>"}', {"t": f"<{HARD}>"}),
        ('{"t": {{ input.x | tojson }}}', {"t": HARD}),
        ("[{% for x in input.list %}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}]", ["a", 2, True]),
        ('[{% for x in input.list %}{{ "" if loop.first else ", " }}{{ x }}{% endfor %}]', ["a", 2, True]),
        ('{"k": "\\"{{ input.x }}\\\\"}', {"k": f'"{HARD}\\'}),
        ("{{ input | tojson }}", {**VALUES["input"], "x": HARD}),
    ],
)
def test_a_value_in_a_json_body_is_a_value_or_a_part_of_a_text(text: str, body: object) -> None:
    values = {**VALUES["input"], "x": HARD}

    assert json.loads(compile_template(text, use="json").render({"input": values})) == body


@pytest.mark.req("CT-24")
def test_a_body_that_is_no_json_is_refused() -> None:
    with pytest.raises(TemplateError, match="is not JSON"):
        compile_template("{{ input.x }} {{ input.x }}", use="json").render({"input": {"x": 1}})


@pytest.mark.req("CT-24")
def test_a_value_in_a_form_is_a_part_of_its_field() -> None:
    assert (
        compile_template("a={{ input.x }}&b=1", use="form").render({"input": {"x": "&b=2 +"}}) == "a=%26b%3D2%20%2B&b=1"
    )


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
        ("{{ input.empty | first }}{{ input.empty | last }}", "no value for `the first item`"),
        ("{{ input.empty | last }}", "no value for `the last item`"),
        ("{{ input.days }}", "would write null"),
        ("{{ input.list }}", "would write a list of 3 items"),
        ("{{ context.deep }}", "would write an object"),
        ("{{ input.city | join }}", "needs a list"),
        ("{{ input.days | upper }}", "would write null"),
        ("{{ input.days ~ 'x' }}", "would write null"),
        ("{% for x in input.half %}{% endfor %}", "loops over a number"),
        ("{% for x in input.gone %}{% endfor %}", "no value for `gone`"),
        ("{% if input.gone %}{% endif %}", "no value for `gone`"),
        ("{{ input.half + input.city }}", "kinds do not allow"),
        ("{{ input.big | int + [] }}", "kinds do not allow"),
        ("{{ input.gone | join }}", "no value for `gone`"),
        ("{{ input.half < input.city }}", "kinds do not allow"),
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


@pytest.mark.req("CT-24", "TP-26")
@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("plain", ("plain", False, False)),
        ("{{ input.x }}", ("-rf", True, False)),
        ("{{ input.none }}{{ input.x }}", ("-rf", True, False)),
        ("--x={{ input.x }}", ("--x=-rf", False, False)),
        ("{{ '--x=' ~ input.x }}", ("--x=-rf", False, False)),
        ("{{ '--x=' + input.x }}", ("--x=-rf", False, False)),
        ("{{ '' ~ input.x }}", ("-rf", True, False)),
        ("{% if input.x %}--all{% endif %}", ("--all", False, False)),
        ("{{ '--all' if input.x else '--one' }}", ("--all", False, False)),
        ("{{ '--all' if input.x else input.x }}", ("--all", True, False)),
        ("{% for x in [input.x] %}{{ x }}{% endfor %}", ("-rf", True, False)),
        ("{% if not input.x %}--all{% endif %}", ("", False, True)),
        ("{{ '--all' if not input.x }}", ("", False, True)),
        ("{{ input.none }}", ("", True, False)),
    ],
)
def test_a_template_tells_whether_a_value_comes_first_and_whether_it_wrote_anything(text: str, rendered: Any) -> None:
    given_text, starts_with_value, is_nothing = rendered

    filled = compile_template(text).fill({"input": {"x": "-rf", "none": ""}})

    assert (filled.text, filled.is_nothing) == (given_text, is_nothing)
    assert filled.starts_with_value is (starts_with_value and given_text != "")
    assert compile_template(text).is_literal == ("{{" not in text and "{%" not in text)


SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"type": "string", "default": "km"},
        "place": {"$ref": "#/$defs/place"},
        "list": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["city", "place", "list"],
    "$defs": {"place": {"properties": {"zip": {}, "at": {}}, "required": ["zip"]}},
}


@pytest.mark.req("CT-24")
@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("{{ input.city }}{{ input.unit }}{{ input.list[0] }}{{ input.place.zip }}", ()),
        ("{{ input.days }}{{ input['days'] }}{{ input.place.at }}", ("input.days", "input.place.at")),
        ("{{ input.days | default(3) }}{{ input.place.at | d('x') | upper }}", ()),
        ("{{ input.days | default(input.other) }}", ("input.other",)),
        ("{{ input.days | int | default(3) }}", ()),
        ("{% if input.days is defined %}{{ input.days }}{% endif %}", ()),
        ("{% if input.days is undefined %}-{% else %}{{ input.days }}{% endif %}", ()),
        ("{% if not input.days is defined or not input.days %}-{% else %}{{ input.days }}{% endif %}", ()),
        ("{% if input.days %}{{ input.days }}{% endif %}", ("input.days",)),
        ("{{ input.days if input.days is defined and input.days > 1 }}", ()),
        ("{{ input.days if input.city is defined else input.days }}", ("input.days",)),
        ("{{ input.city.upper() }}{{ input.items() | list | tojson }}{{ input | tojson }}", ()),
        ("{% for x in input.list %}{{ x.y }}{% endfor %}{{ context.a }}", ()),
    ],
)
def test_a_value_that_a_call_may_leave_out_is_found(text: str, absent: tuple[str, ...]) -> None:
    tree = parse_template(text)

    assert tree is not None
    assert absent_inputs(tree, SCHEMA) == absent


@pytest.mark.req("CT-24")
@pytest.mark.parametrize(
    ("given_input", "filled"),
    [
        ({}, {"n": 3, "deep": {"a": {"b": 1}}}),
        ({"n": None, "deep": {"a": {}}}, {"n": None, "deep": {"a": {"b": 1}}}),
        ({"deep": {}, "rows": [{}, {"x": 2}]}, {"n": 3, "deep": {"a": {"b": 1}}, "rows": [{"x": 1}, {"x": 2}]}),
        ({"deep": "text"}, {"n": 3, "deep": "text"}),
    ],
    ids=["nothing", "null", "lists", "another kind"],
)
def test_defaults_of_the_schema_fill_what_a_call_leaves_out(given_input: Any, filled: Any) -> None:
    schema = {
        "properties": {
            "n": {"default": 3},
            "deep": {"$ref": "#/$defs/deep"},
            "rows": {"items": {"properties": {"x": {"default": 1}}}},
        },
        "$defs": {
            "deep": {
                "default": {},
                "allOf": [{"properties": {"a": {"default": {}, "properties": {"b": {"default": 1}}}}}],
            }
        },
    }
    before = json.dumps(given_input)

    assert with_defaults(schema, given_input) == filled
    assert json.dumps(given_input) == before


@pytest.mark.req("CT-24")
def test_defaults_that_contain_themselves_end() -> None:
    schema = {"properties": {"next": {"$ref": "#", "default": {}}}}

    assert len(json.dumps(with_defaults(schema, {}))) < 1000


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
