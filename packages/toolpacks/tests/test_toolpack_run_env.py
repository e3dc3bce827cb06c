"""The environment of a pack's process: what the pack names, and nothing else of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from running_packs import ask, load, need, needs_walls, running, write_file, write_pack, write_python

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import ProcessNotStarted
from toolcrib_toolpacks.environment import looks_secret, pack_environment
from toolcrib_toolpacks.errors import CapabilityRefused, ToolpackValidationError
from toolcrib_toolpacks.planning import PreparedPack, RunSettings

pytestmark = needs_walls

HOST = {"GREETING": "hello", "OTHER": "canary-1", "AWS_SECRET_ACCESS_KEY": "canary-2", "HOME": "/canary-3"}
# What an interpreter or the runtime needs: where programs and files are, how text is written, whose tree it is.
ALWAYS = {"PATH", "LANG", "HOME", "TMPDIR", "TOOLCRIB_TREE"}
ENV = {"passthrough": ["GREETING", "NOT_THERE"], "set": {"MODE": "test"}}
PRINTS: dict[str, Any] = {
    "script": "import json, os\nprint(json.dumps(dict(os.environ)))\n",
    "module": "import os\ndef run(_):\n    return dict(os.environ)\n",
}


@pytest.mark.req("TP-23")
@pytest.mark.fault("D8")
async def test_every_kind_sees_only_the_variables_that_its_pack_names(tmp_path: Path) -> None:
    need("node")
    need("php")
    write_python(tmp_path, "module", PRINTS["module"], env=ENV)
    write_python(tmp_path, "script", PRINTS["script"], way="script", env=ENV)
    write_file(tmp_path, "env.cjs", "console.log(JSON.stringify(process.env))")
    write_file(tmp_path, "env.mjs", "export default () => process.env")
    write_file(tmp_path, "env.php", "<?php echo json_encode(getenv());")
    write_pack(tmp_path, "node", {"kind": "node", "script": "env.cjs"}, env=ENV)
    write_pack(tmp_path, "warm", {"kind": "node", "module": "env.mjs"}, env=ENV)
    write_pack(tmp_path, "php", {"kind": "php", "script": "env.php"}, env=ENV)
    cli = ["/bin/sh", "-c", "env | grep -q canary && echo '{\"leak\": \"canary\"}' || echo '{}'"]
    write_pack(tmp_path, "cli", {"kind": "cli", "cmd": cli}, env=ENV)

    async with running(tmp_path, environment=HOST, granted_env=frozenset({"GREETING", "OTHER"})) as toolbox:
        seen = {
            name: (await ask(toolbox, name)).unwrap() for name in ("module", "script", "node", "warm", "php", "cli")
        }

    assert "canary" not in str(seen)
    for name in ("module", "script", "node", "warm", "php"):
        variables = seen[name]
        assert set(variables) - ALWAYS - {"LC_CTYPE"} == {"GREETING", "MODE"}, name
        assert (variables["GREETING"], variables["MODE"]) == ("hello", "test")


# Names that tell a person what they hold, and a list of words does not.
UNTOLD = {
    "TOOLCRIB_SHARED": "canary-a",
    "PGPASSWORD": "canary-b",
    "GH_PAT": "canary-c",
    "DATABASE_URL": "canary-d",
    "SESSION": "canary-e",
    "TZ": "canary-f",
}


@pytest.mark.req("TP-23")
@pytest.mark.fault("K14")
async def test_without_a_grant_no_variable_of_the_gateway_is_in_any_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("node")
    need("php")
    for name, value in UNTOLD.items():
        monkeypatch.setenv(name, value)
    env = {"passthrough": sorted(UNTOLD)}
    write_python(tmp_path, "module", PRINTS["module"], env=env)
    write_python(tmp_path, "script", PRINTS["script"], way="script", env=env)
    write_file(tmp_path, "env.cjs", "console.log(JSON.stringify(process.env))")
    write_file(tmp_path, "env.mjs", "export default () => process.env")
    write_file(tmp_path, "env.php", "<?php echo json_encode(getenv());")
    write_pack(tmp_path, "node", {"kind": "node", "script": "env.cjs"}, env=env)
    write_pack(tmp_path, "warm", {"kind": "node", "module": "env.mjs"}, env=env)
    write_pack(tmp_path, "php", {"kind": "php", "script": "env.php"}, env=env)
    cli = ["/bin/sh", "-c", "env | sed 's/.*/\"&\",/' | { echo '['; cat; echo '0]'; }"]
    write_pack(tmp_path, "cli", {"kind": "cli", "cmd": cli}, env=env)
    kinds = ("module", "script", "node", "warm", "php", "cli")

    async with running(tmp_path) as toolbox:
        seen = {name: (await ask(toolbox, name)).unwrap() for name in kinds}
    async with running(tmp_path, granted_env=frozenset({"DATABASE_URL"})) as toolbox:
        granted = {name: (await ask(toolbox, name)).unwrap() for name in kinds}

    assert "canary" not in str(seen)
    assert "DATABASE_URL=canary-d" in granted.pop("cli")
    assert all(variables["DATABASE_URL"] == "canary-d" for variables in granted.values())
    assert not [value for value in UNTOLD.values() if value != "canary-d" and value in str(granted)]


@pytest.mark.fault("K14")
@pytest.mark.parametrize("name", sorted(UNTOLD))
async def test_no_template_of_a_pack_names_a_variable_that_was_not_granted(name: str, tmp_path: Path) -> None:
    cmd = ["/bin/sh", "-c", 'printf \'"%s"\' "$1"', "sh", f"{{{{ env.{name} }}}}"]
    write_pack(tmp_path, "cli", {"kind": "cli", "cmd": cmd}, env={"passthrough": [name]})

    async with running(tmp_path, environment=UNTOLD) as toolbox:
        refused = (await ask(toolbox, "cli")).error
    async with running(tmp_path, environment=UNTOLD, granted_env=frozenset({name})) as toolbox:
        granted = (await ask(toolbox, "cli")).unwrap()

    assert refused is not None
    assert refused.code == "toolbox.template-error"
    assert "canary" not in str(refused.to_dict())
    assert granted == UNTOLD[name]


@pytest.mark.req("TP-23")
@pytest.mark.fault("C9")
async def test_a_variable_that_looks_like_a_secret_needs_a_grant_by_name(tmp_path: Path) -> None:
    env = {"passthrough": ["AWS_SECRET_ACCESS_KEY"]}
    write_python(tmp_path, "asks", PRINTS["module"], env=env)

    async with running(tmp_path, environment=HOST) as toolbox:
        refused = await ask(toolbox, "asks")
    async with running(tmp_path, environment=HOST, granted_env=frozenset(HOST)) as toolbox:
        granted = await ask(toolbox, "asks")
    async with running(tmp_path, environment={}) as toolbox:
        absent = await ask(toolbox, "asks")

    assert refused.error is not None
    assert (refused.error.code, refused.error.category) == ("toolbox.capability-refused", ToolErrorCategory.PERMISSION)
    assert refused.error.details["variables"] == ["AWS_SECRET_ACCESS_KEY"]
    assert "canary" not in str(refused.error.to_dict())
    assert granted.unwrap()["AWS_SECRET_ACCESS_KEY"] == "canary-2"
    assert "AWS_SECRET_ACCESS_KEY" not in absent.unwrap()


@pytest.mark.req("TP-23")
@pytest.mark.fault("C9")
@pytest.mark.parametrize("name", ["LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS", "PHPRC"])
def test_a_variable_that_decides_what_code_is_loaded_is_never_passed_on(name: str, tmp_path: Path) -> None:
    write_pack(tmp_path, "cli", {"kind": "cli", "cmd": ["cat"]})
    (pack,) = load(tmp_path)
    forced = pack.model_copy(update={"env": pack.env.model_copy(update={"passthrough": (name,)})})
    prepared = PreparedPack(forced, RunSettings(environment={name: "x"}, granted_env=frozenset({name})))

    with pytest.raises(ProcessNotStarted, match="never passed on"):
        prepared.spec(prepared.command({}))

    write_pack(tmp_path, "cli", {"kind": "cli", "cmd": ["cat"]}, env={"passthrough": [name]})
    with pytest.raises(ToolpackValidationError, match=name):
        load(tmp_path)


@pytest.mark.req("TP-23")
@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("GITHUB_TOKEN", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("API_KEY", True),
        ("APIKEY", True),
        ("DB_PASSWORD", True),
        ("GOOGLE_APPLICATION_CREDENTIALS", True),
        ("LANG", False),
        ("KEYBOARD", False),
        ("TOKENIZERS_PARALLELISM", False),
        ("MONKEY", False),
    ],
)
def test_secrets_are_known_by_the_words_of_their_names(name: str, *, secret: bool) -> None:
    assert looks_secret(name) is secret


@pytest.mark.req("TP-23")
def test_a_secret_that_the_pack_sets_itself_is_its_own(tmp_path: Path) -> None:
    write_pack(tmp_path, "cli", {"kind": "cli", "cmd": ["cat"]}, env={"set": {"DEMO_TOKEN": "public"}})
    (pack,) = load(tmp_path)

    assert pack_environment(pack, HOST, granted=()) == {"DEMO_TOKEN": "public"}


def test_the_refusal_is_a_capability(tmp_path: Path) -> None:
    assert CapabilityRefused("no").category is ToolErrorCategory.PERMISSION
