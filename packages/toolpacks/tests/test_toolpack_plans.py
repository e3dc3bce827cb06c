"""What a call would do can be seen before anything runs, without a secret in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from running_packs import load, needs_walls, write_file, write_pack, write_python

from toolcrib_toolpacks import plan_of
from toolcrib_toolpacks.errors import TemplateError
from toolcrib_toolpacks.planning import RunSettings

pytestmark = needs_walls


def test_a_command_is_shown_with_its_walls_and_limits(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    write_pack(
        tmp_path,
        "cli",
        {"kind": "cli", "cmd": ["sort", "--key={{ input.key }}"]},
        caps={"subprocess": True, "filesystem": {"read": ["data"]}},
        env={"set": {"MODE": "secret-value"}},
        deterministic=True,
    )
    (pack,) = load(tmp_path)

    plan = plan_of(pack, {"key": "2"}).to_dict()

    assert plan == {
        "tool": "test:cli@1.0.0",
        "kind": "cli",
        "way": "process",
        "argv": ["sort", "--key=2"],
        "reads": [str(tmp_path / "data")],
        "writes": [],
        "body": '{"key":"2"}',
        "env": ["MODE"],
        "ungranted": [],
        "folder": str(tmp_path),
        "timeoutMs": 10_000,
        "maxInputBytes": 100_000,
        "maxOutputBytes": 100_000,
        "network": "no sockets",
        "children": "allowed",
        "cached": True,
    }


def test_a_request_is_shown_with_its_url_and_the_names_of_its_headers(tmp_path: Path) -> None:
    write_pack(
        tmp_path,
        "http",
        {"kind": "http", "url": "https://api.example/{{ input.id }}", "headers": {"X-Key": "{{ env.KEY }}"}},
        caps={"network": ["https"]},
        env={"passthrough": ["KEY"]},
    )
    (pack,) = load(tmp_path)
    settings = RunSettings(environment={"KEY": "canary"}, granted_env=frozenset({"KEY"}))

    plan = plan_of(pack, {"id": "a/b"}, settings=settings)

    assert (plan.way, plan.method, plan.url) == ("request", "POST", "https://api.example/a%2Fb")
    assert (plan.headers, plan.env) == (("X-Key",), ("KEY",))
    assert plan.to_dict()["headers"] == ["X-Key"]
    assert "canary" not in f"{plan!r}{settings!r}"


def test_workers_and_scripts_are_told_apart(tmp_path: Path) -> None:
    write_python(tmp_path, "module", "", caps={"network": ["https"]})
    write_python(tmp_path, "script", "", way="script")
    write_file(tmp_path, "x.mjs", "")
    write_pack(tmp_path, "node", {"kind": "node", "module": "x.mjs:run"})
    packs = {pack.id: plan_of(pack, {}) for pack in load(tmp_path)}

    assert {name: plan.way for name, plan in packs.items()} == {
        "test.module": "worker",
        "test.node": "worker",
        "test.script": "process",
    }
    assert (packs["test.module"].network, packs["test.module"].children) == ("ports 443", "denied")


def test_a_call_that_would_be_refused_is_refused_by_its_plan(tmp_path: Path) -> None:
    write_pack(tmp_path, "cli", {"kind": "cli", "cmd": ["sort", "{{ input.key }}"]})
    (pack,) = load(tmp_path)

    with pytest.raises(TemplateError, match=r"no value for `key`"):
        plan_of(pack, {}, settings=RunSettings(environment={}))


@pytest.mark.parametrize("host", [{}, {"API_KEY": "canary-1", "PLACE": "canary-2"}], ids=["unset", "set"])
def test_a_plan_needs_no_secret_and_shows_none(tmp_path: Path, host: dict[str, str]) -> None:
    env = {"passthrough": ["API_KEY", "PLACE"], "set": {"APP_TOKEN": "canary-3", "MODE": "plain"}}
    words = "{{ env.API_KEY }} {{ env.PLACE }} {{ env.APP_TOKEN }} {{ env.MODE }}"
    write_pack(tmp_path, "cli", {"kind": "cli", "cmd": ["echo", words]}, env=env)
    write_pack(
        tmp_path, "http", {"kind": "http", "url": "https://api.example/{{ env.PLACE }}?k={{ env.API_KEY }}"}, env=env
    )
    settings = RunSettings(environment=host)

    command, request = (plan_of(pack, {}, settings=settings) for pack in load(tmp_path))
    granted = plan_of(load(tmp_path)[0], {}, settings=RunSettings(granted_env=frozenset({"API_KEY"})))

    assert command.argv == ("echo", "$API_KEY $PLACE $APP_TOKEN plain")
    assert request.url == "https://api.example/$PLACE?k=$API_KEY"
    assert (command.ungranted, granted.ungranted) == (("API_KEY", "PLACE"), ("PLACE",))
    assert command.to_dict()["ungranted"] == ["API_KEY", "PLACE"]
    assert "canary" not in f"{command!r}{request!r}{command.to_dict()}"
