"""The built site in a browser: Debian's Chromium, headless, through Playwright."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no chromium on the path", allow_module_level=True)

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
KINDS = (
    "index", "tutorial", "operators/index", "operators/onnx-6", "operators/openvino-1", "differences/index",
    "differences/onnx-7-13", "matrix", "matrix/openvino-cpu", "releases", "releases/openvino-cpu", "schemas/check",
    "reference/minuend", "search",
)  # fmt: skip


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site, served on loopback."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Opens a page of the site in a window of its own; what the console complains of is in ``complaints``."""
    contexts = []

    def open_page(path: str, **options: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": DESK, **options}))
        page = contexts[-1].new_page()
        page.complaints = []
        page.on(
            "console", lambda said: page.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("requestfailed", functools.partial(note, page))
        page.goto(f"{address}/{path}", wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()


def note(page: Any, request: Any) -> None:
    """Note what could not be had; what the next page cut short is none of it."""
    if "ERR_ABORTED" not in (request.failure or ""):
        page.complaints.append(f"{request.url}: {request.failure}")


def test_every_page_loads_without_a_complaint_and_fits_a_phone(
    site: Path, address: str, opened: Callable[..., Any]
) -> None:
    page = opened("en/index.html", viewport=PHONE)
    wide: list[str] = []
    for path in sorted(site.glob("en/**/*.html")) + sorted(site.glob("zh_TW/**/*.html")):
        name = path.relative_to(site).as_posix()
        page.goto(f"{address}/{name}", wait_until="load")
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(name)
    assert page.complaints == []
    assert wide == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", KINDS)
def test_no_serious_fault_of_accessibility(name: str, scheme: str, opened: Callable[..., Any]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for viewport in (DESK, PHONE):
        page = opened(f"en/{name}.html", color_scheme=scheme, viewport=viewport)
        faults = [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}"
            for one in axe.run(page).response["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert faults == []


def visible_rows(page: Any, table: str) -> int:
    return int(page.locator(f'table[data-table="{table}"] tbody tr:visible').count())


FILTERS = ("operator", "element type", "standard or runtime", "verdict", "severity")


def choose(page: Any, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(value)


def options(page: Any, label: str) -> list[str]:
    found: list[str] = (
        page.get_by_label(label, exact=True).locator("option").evaluate_all("all => all.map(o => o.value)")
    )
    return found


def shown(page: Any, table: str, name: str) -> set[str]:
    """A datum of the cells of a table that the filter leaves."""
    cells = page.locator(f'table[data-table="{table}"] td[data-verdict]:not(.faded):visible')
    return set(cells.evaluate_all(f"all => all.map(cell => cell.dataset.{name} || '')"))


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_the_filter_of_the_matrix(viewport: dict[str, int], opened: Callable[..., Any]) -> None:
    page = opened("en/matrix.html", viewport=viewport)
    every = visible_rows(page, "openvino-cpu")
    choose(page, "element type", "uint8")
    assert (visible_rows(page, "openvino-cpu"), visible_rows(page, "standards")) == (1, 1)
    assert page.locator("table.newest thead th[data-type]:visible").all_inner_texts() == ["uint8"]
    choose(page, "standard or runtime", "openvino-cpu")
    assert (visible_rows(page, "standards"), visible_rows(page, "newest")) == (0, 1)
    assert "type=uint8&table=openvino-cpu" in page.url
    choose(page, "verdict", "not-implemented")
    assert page.get_by_role("status").inner_text() == "No cell is left by this choice."
    page.get_by_role("button", name="clear").click()
    page.wait_for_function("location.search === ''")  # the fields are empty only after the event
    assert visible_rows(page, "openvino-cpu") == every
    assert page.get_by_role("status").inner_text() == ""
    assert [page.get_by_label(label, exact=True).input_value() for label in FILTERS] == [""] * 5
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.complaints == []


def test_the_filter_by_severity(opened: Callable[..., Any]) -> None:
    page = opened("en/matrix.html")
    assert options(page, "severity") == ["", "rounding", "subnormal", "edge", "numbers", "no example"]
    choose(page, "severity", "subnormal")
    assert shown(page, "newest", "severity") == {"subnormal"}
    assert shown(page, "newest", "verdict") == {"different-numbers"}
    assert visible_rows(page, "standards") == 0
    cells = page.locator("table.newest td[data-severity=subnormal]:visible").count()
    assert 0 < cells < int(page.get_by_role("status").inner_text().removeprefix("cells: "))
    choose(page, "severity", "no example")
    assert shown(page, "newest", "type") >= {"float16", "int64"}


def test_the_filter_by_operator_and_version(opened: Callable[..., Any]) -> None:
    page = opened("en/matrix.html?operator=onnx:14")
    assert page.get_by_label("operator", exact=True).input_value() == "onnx:14"
    known = options(page, "operator")
    assert known[:2] == ["", "subtract"]
    assert {"onnx:14", "openvino:1"} <= set(known)
    assert "nf4" not in shown(page, "newest", "type")  # no version of ONNX takes it
    choose(page, "operator", "subtract")
    assert "nf4" in shown(page, "newest", "type")


def test_another_operator_in_the_cells_is_another_choice(opened: Callable[..., Any]) -> None:
    page = opened("en/index.html")

    def changed(route: Any) -> None:
        body = route.fetch().text()
        at = body.index('data-type="uint8" data-operator="subtract"')
        route.fulfill(body=body[:at] + body[at:].replace('"subtract"', '"add"', 1), content_type="text/html")

    page.route("**/matrix.html", changed)
    page.goto(page.url.replace("index", "matrix"), wait_until="load")
    assert [name for name in options(page, "operator") if ":" not in name] == ["", "subtract", "add"]
    choose(page, "operator", "add")
    assert page.get_by_role("status").inner_text() == "cells: 1"


def test_the_choice_is_in_the_address(opened: Callable[..., Any]) -> None:
    page = opened("en/matrix.html?type=float64&verdict=different-numbers")
    assert page.get_by_label("element type", exact=True).input_value() == "float64"
    assert visible_rows(page, "openvino-cpu") == 1
    assert visible_rows(page, "numpy") == 0


def test_a_cell_leads_to_its_witness(opened: Callable[..., Any]) -> None:
    page = opened("en/matrix.html")
    name = "openvino-cpu 2026.4.1, uint8: different-numbers, numbers"
    cell = page.locator("table.newest").get_by_role("link", name=name)
    assert cell.get_attribute("title") == "5 - 10 gives 0, expected 251"
    cell.click()
    page.wait_for_url("**/matrix/openvino-cpu.html#uint8-2026.4.1")
    row = page.locator("tr", has=page.locator('[id="uint8-2026.4.1"]'))
    assert "5 - 10 gives 0, expected 251" in row.inner_text()


def test_without_a_script_the_matrix_stands_whole(opened: Callable[..., Any]) -> None:
    page = opened("en/matrix.html", java_script_enabled=False)
    assert page.locator("#matrix-filter select").count() == 0
    assert page.locator("table.matrix tbody tr:visible").count() > 200
    assert page.locator("ul.legend.explained li:visible").count() == 10
    page.get_by_role("link", name="ONNX 14").first.click()
    assert page.title().startswith("ONNX Sub-14")


@pytest.mark.parametrize(("language", "words"), [("en", "Copy"), ("zh_TW", "複製")])
def test_a_copy_button_speaks_the_page_s_language(language: str, words: str, opened: Callable[..., Any]) -> None:
    page = opened(f"{language}/index.html")
    button = page.locator("button.copybtn").first
    assert button.get_attribute("data-tooltip") == words
    assert (button.locator("svg title").text_content() or "").startswith(words)
    assert page.complaints == []


@pytest.mark.parametrize("name", KINDS)
def test_the_language_switch_stays_on_the_page(name: str, opened: Callable[..., Any]) -> None:
    page = opened(f"en/{name}.html")
    page.get_by_role("link", name="繁體中文").click()
    assert page.url.endswith(f"zh_TW/{name}.html")
    assert page.locator("html").get_attribute("lang") == "zh-TW"
    page.get_by_role("link", name="English").click()
    assert page.url.endswith(f"en/{name}.html")
    assert page.complaints == []


@pytest.mark.parametrize(("path", "word", "found"), [("en", "onnx_legacy", "Sub-6"), ("zh_TW", "次正規數", "Sub-14")])
def test_search_finds(path: str, word: str, found: str, opened: Callable[..., Any]) -> None:
    page = opened(f"{path}/search.html?q={word}")
    page.locator("#search-results li a", has_text=found).first.wait_for()
    assert page.complaints == []
