"""`report --check`: every change of a site is found and named, and what is not a site is refused in one sentence."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import re
import shutil
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from built_warehouse import stored
from command_line import debatebench_here
from report_warehouse import make_warehouse, tournament
from site_pages import keep_pages, report_files

from debatebench.output.report.check import check_site
from debatebench.output.report.folder import FORMAT, MANIFEST
from debatebench.output.report.page_differences import differences
from debatebench.output.report.site import build_site
from debatebench.shared.errors import UsageError

pytestmark = pytest.mark.slow

FEW = report_files("index", "results")
_CELL = re.compile(r"<td[^>]*>([^<>]+)(?=<t[dr]|</table)")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_warehouse(
        tmp_path_factory.mktemp("warehouse") / "debatebench.duckdb",
        ("tiny", tournament("tiny", ("alpha", "beta", "gamma"))),
    )
    return stored(made)


@pytest.fixture(scope="module")
def site(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(database, report_files(), tmp_path_factory.mktemp("out") / "site").parent


@pytest.fixture(scope="module")
def small(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with few pages, for tests that check it: a check makes all pages again."""
    return build_site(database, FEW, tmp_path_factory.mktemp("small") / "site").parent


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "copy"))


def found(database: Path, folder: Path) -> list[str]:
    return list(check_site(database, FEW, folder).differences)


def changed(choose: random.Random, content: bytes) -> bytes:
    """The content with one byte other, gone or more, or cut off."""
    at = choose.randrange(len(content))
    kind = choose.randrange(4)
    if kind == 0:
        return content[:at] + bytes([(content[at] + choose.randrange(1, 256)) % 256]) + content[at + 1 :]
    if kind == 1:
        return content[:at] + content[at + 1 :]
    return content[:at] + b"7" + content[at:] if kind == 2 else content[:at]


# --- what is found ----------------------------------------------------------------------------------------------------


def test_unchanged_site_has_no_differences(database: Path, site: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(site, tmp_path / "copy"))
    (copy / ".nojekyll").touch()
    assert check_site(database, report_files(), copy).differences == []


def test_each_of_800_random_changes_of_a_file_is_found(site: Path) -> None:
    choose = random.Random(7)
    files = {path.relative_to(site).as_posix(): path.read_bytes() for path in sorted(site.rglob("*")) if path.is_file()}
    files = {name: content for name, content in files.items() if name != MANIFEST and len(content) < 300_000}
    for _ in range(800):
        name = choose.choice(list(files))
        if (other := changed(choose, files[name])) != files[name]:
            first = next(iter(differences(name, other, files[name])))
            assert str(first).startswith(name)


def test_each_of_200_random_changes_of_a_cell_is_named_with_its_values(site: Path) -> None:
    choose = random.Random(8)
    pages = {path.relative_to(site).as_posix(): path.read_text("utf-8") for path in sorted(site.rglob("*.html"))}
    cells = [(name, match) for name, page in pages.items() for match in _CELL.finditer(page) if match[1].strip()]
    for name, match in choose.choices(cells, k=200):
        page = pages[name]
        other = page[: match.start(1)] + "98765.4" + page[match.end(1) :]
        (difference,) = differences(name, other.encode(), page.encode())
        assert difference.shown == "98765.4"
        assert re.match(r"section '[a-z-]+', row \d+", difference.place), difference
        assert "column" in difference.place


def test_a_row_that_is_added_or_gone_does_not_move_those_below_it(site: Path) -> None:
    page = (site / "runs" / "tiny" / "index.html").read_text("utf-8")
    section = page[page.index('<section id="leaderboard"') :]
    row = re.search(r"<tbody>\s*(<tr>.*?)(?=<tr>|</table>)", section, re.S)
    assert row
    texts = list(map(str, differences("x.html", page.replace(row[1], "", 1).encode(), page.encode())))
    assert texts
    assert all("lacks" in text for text in texts), texts


def test_points_of_charts_and_items_of_data_are_named(site: Path) -> None:
    page = '<section id="a"><script type="application/gzip">%s</script></section>'

    def packed(data: object) -> str:
        return base64.b64encode(gzip.compress(json.dumps(data).encode())).decode()

    def script(data: object) -> bytes:
        return f'debatebench.received("n","{packed(data)}");\n'.encode()

    was, now = ((page % packed({"charts": [{"x": [1, point]}]})).encode() for point in (2, 3))
    (point,) = differences("x.html", was, now)
    assert str(point) == "x.html: section 'a', data.charts.0.x.1 shows '2', now '3'"
    (item,) = differences("data/n.js", script({"a": [1, {"b": "x"}]}), script({"a": [1, {"b": "y"}]}))
    assert str(item) == "data/n.js: a.1.b shows 'x', now 'y'"


def test_data_that_unpacks_to_far_more_than_it_should_is_not_unpacked() -> None:
    bomb = base64.b64encode(gzip.compress(b"[" + b"0," * 50_000_000 + b"0]", 1)).decode()
    now = base64.b64encode(gzip.compress(b"[1]")).decode()
    texts = [f'debatebench.received("n","{each}");\n'.encode() for each in (bomb, now)]
    (difference,) = differences("data/n.js", *texts)
    assert difference.place.startswith("line 1, byte")


def test_files_that_are_missing_added_links_or_huge_are_found(database: Path, copy: Path) -> None:
    (copy / "judges.html").write_text("mine")
    (copy / "index.html").unlink()
    (copy / "assets" / "site.css").unlink()
    (copy / "assets" / "site.css").symlink_to("/etc/passwd")
    with (copy / "assets" / "tables.js").open("wb") as file:
        file.truncate(10**12)
    texts = found(database, copy)
    assert set(texts) >= {
        "judges.html: is not a file of this site",
        "index.html: is missing",
        "assets/site.css: is a link",
        "assets/tables.js: has 1,000,000,000,000 bytes, far more than it should",
    }


def test_manifest_that_was_changed_to_fit_does_not_hide_a_change(database: Path, copy: Path) -> None:
    import hashlib

    page = copy / "runs" / "tiny" / "index.html"
    text = page.read_text("utf-8")
    cell = next(match for match in _CELL.finditer(text) if match[1] == "beta" or match[1].isdigit())
    page.write_text(text[: cell.start(1)] + "31337" + text[cell.end(1) :], "utf-8")
    manifest = json.loads((copy / MANIFEST).read_text())
    manifest["files"]["runs/tiny/index.html"] = hashlib.sha256(page.read_bytes()).hexdigest()
    manifest["data"] = {}
    (copy / MANIFEST).write_text(json.dumps(manifest))
    texts = found(database, copy)
    assert any("runs/tiny/index.html: section" in text and "'31337'" in text for text in texts)
    assert any(text.startswith(f"{MANIFEST}: data.") for text in texts)


def test_numbers_that_the_warehouse_no_longer_gives_are_named_with_the_reason(
    database: Path, small: Path, tmp_path: Path
) -> None:
    other = tmp_path / "debatebench.duckdb"
    shutil.copy(database, other)
    with closing(duckdb.connect(str(other))) as con:
        con.execute("update marts.leaderboard set wins = wins + 100 where model_id = 'alpha'")
    check = check_site(other, FEW, small)
    assert check.reasons == ["Stored rows of these runs are others: marts.leaderboard."]
    assert any("row 1 ('1'), column" in text and "runs/tiny/index.html" in text for text in check.differences)


def test_site_of_another_version_says_so_first(database: Path, copy: Path) -> None:
    manifest = json.loads((copy / MANIFEST).read_text())
    (copy / MANIFEST).write_text(json.dumps({**manifest, "debatebench": "0.0.9", "pages": {}}))
    first, second = check_site(database, FEW, copy).reasons
    assert first.startswith("The site was made by debatebench 0.0.9, and this is ")
    assert second.startswith("A page or other file of reports/ is another one: ")


# --- the command ------------------------------------------------------------------------------------------------------


def test_command_fails_with_a_limited_list(database: Path, tmp_path: Path) -> None:
    (keep_pages(tmp_path, "index") / "warehouse").mkdir()
    shutil.copy(database, tmp_path / "warehouse" / "debatebench.duckdb")
    copy = tmp_path / "copy"
    assert debatebench_here(tmp_path, "report", "--out-dir", str(copy)).code == 0
    done = debatebench_here(tmp_path, "report", "--check", str(copy))
    assert done.code == 0, done.err
    assert "copy is what the warehouse gives" in done.out
    for n in range(60):
        (copy / f"added-{n}.html").touch()
    done = debatebench_here(tmp_path, "report", "--check", str(copy))
    assert done.code == 1
    assert done.error_line.endswith("copy is not what the warehouse gives: 60 differences.")
    assert done.err.splitlines()[-1] == "  and 10 more"
    done = debatebench_here(tmp_path, "report", "--check", str(copy), "--title", "x")
    assert done.code == 2
    assert "leave out --title" in done.err


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "null", "[]", "[" * 100_000, '{"format": "other"}', f'{{"format": "{FORMAT}"}}'),
        f'{{"format": "{FORMAT}", "choice": {{"run_tags": [1], "compare": [], "front": null, "title": null}}}}',
        f'{{"format": "{FORMAT}", "choice": {{"run_tags": ["none"], "compare": [], "front": null, "title": null}}}}',
    ],
)
def test_folder_with_a_hostile_manifest_is_refused(database: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(UsageError):
        check_site(database, report_files(), tmp_path)


def test_folder_that_is_no_site_is_refused(database: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / MANIFEST).symlink_to(tmp_path / "pipe")
    for folder in (tmp_path / "none", tmp_path, tmp_path / "pipe", tmp_path / "site"):
        with pytest.raises(UsageError, match="is not a site"):
            check_site(database, report_files(), folder)
