"""The page in a real browser with the network off: nothing is asked for, nothing runs, nothing overflows."""

import shutil

import pytest

from cipher_nb.report.page import write
from tests.report import nights

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path; on Debian: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright; it is in the dev extra")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open a page offline and return it with everything it asked for and every dialog it raised."""
    contexts = []

    def open_page(path, *, width=1100, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        asked, dialogs = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        page.wait_for_load_state("load")
        return page, [url for url in asked if not url.startswith("data:")], dialogs

    yield open_page
    for context in contexts:
        context.close()


def test_a_staged_night_opens_without_a_single_request(folder, opened):
    nights.staged(folder)
    path = write(folder)
    page, asked, _ = opened(path)
    assert asked == [path.as_uri()]
    assert page.text_content("h1") == (
        "INCONCLUSIVE: composite +0.12; adapter q8-4f1c09ab72de staged, waiting for your decision"
    )
    drawn = page.evaluate("[...document.images].map(image => image.complete && image.naturalWidth > 0)")
    assert drawn == [True, True]


@pytest.mark.parametrize("make", [nights.staged, nights.wide, nights.nothing, nights.failed, nights.died])
def test_a_narrow_screen_is_enough(folder, opened, make):
    make(folder)
    page, _, _ = opened(write(folder), width=400)
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_the_dark_page_is_dark_and_its_chart_too(folder, opened):
    nights.staged(folder)
    page, _, _ = opened(write(folder), scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 28)"
    chosen = page.evaluate("atob(document.images[0].currentSrc.split(',')[1])")
    assert "#56b4e9" in chosen


def test_a_command_is_selected_with_one_click(folder, opened):
    changelog = nights.staged(folder)
    page, _, _ = opened(write(folder))
    page.click("code.command >> nth=0")
    assert page.evaluate("getSelection().toString()") == f"cipher-nb apply {changelog.ref}"


def test_hostile_text_stays_text(folder, opened):
    nights.judged(folder, nights.BETTER, "staged", nights.HOSTILE, answer=nights.HOSTILE)
    nights.collect(folder, learned=[f"[learned] {nights.HOSTILE}"])
    nights.end(folder, "staged", f"PROVEN: {nights.HOSTILE}")
    path = write(folder)
    page, asked, dialogs = opened(path)
    assert (asked, dialogs) == ([path.as_uri()], [])
    assert page.evaluate("document.scripts.length") == 0
    assert page.title() == "PROVEN · night 2026-11-30-0200 · cipher-nb"
    assert page.text_content("h1") == "PROVEN: " + nights.HOSTILE.replace("\u202e", "\\u202e")
