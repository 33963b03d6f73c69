"""What readers would complain of on a page is found, and nothing else."""

import sys

import pytest

from docs import visit

GOOD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,">
<style>
  body { background: #fff; color: #222; margin: 1rem; }
  @media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } }
</style></head><body>
<p id="here">Plain text, <a href="#here" style="color: inherit">a link</a>.</p>
<pre style="overflow-x: auto">code that is wider than a phone and scrolls by itself: fine, fine, fine, fine</pre>
<math><mi>x</mi></math>
</body></html>"""


@pytest.fixture
def complaints(browser, tmp_path):
    def opened(part):
        page = tmp_path / "page.html"
        page.write_text(GOOD.replace("</body>", f"{part}</body>"), encoding="utf-8")
        return [line for _, line in visit.visit(browser, tmp_path, [page])]

    return opened


def test_a_plain_page_is_not_complained_of(complaints):
    assert complaints("") == []


@pytest.mark.parametrize(
    "part, fault",
    [
        ('<div style="width: 500px; height: 1px"></div>', "the page is 516 pixels wide (360 light, 360 dark)"),
        ('<p style="position: fixed; left: -20px">off</p>', 'beyond the edge: p "off"'),
        ('<p style="width: 3rem; overflow: hidden; white-space: nowrap">cut in half</p>', 'cut off: p "cut in half"'),
        (
            '<div style="display: flex; flex-flow: row-reverse; overflow: auto"><b style="flex: 0 0 99em">w</b></div>',
            'out of reach of scrolling: div "w" (360 light',
        ),
        ('<p style="height: 1rem; overflow: hidden">two<br>lines</p>', 'cut off below: p "twolines"'),
        ('<p class="faint" style="color: #777">faint</p>', 'contrast 4.48: p.faint "faint" (360 light'),
        ('<p style="color: #666">faint at night</p>', "(360 dark, 768 dark, 1440 dark)"),
        ('<p style="font-size: 6px">small</p>', "letters of 6 pixels"),
        ('<img src="none.png" alt="">', "no picture"),
        ('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">', "a picture without words"),
        ("<math></math>", "an empty equation"),
        ("<math><merror><mtext>x</mtext></merror></math>", "an equation with an error"),
        ('<script>console.error("oh")</script>', "console: oh"),
        ("<script>undefined.x</script>", "error: "),
        ('<img alt="" src="http://127.0.0.1:9/foreign.png">', "asks for http://127.0.0.1:9/foreign.png"),
    ],
)
def test_what_is_wrong_is_named(complaints, part, fault):
    found = complaints(part)
    assert any(fault in line for line in found), found


def test_links_are_followed_to_their_place(tmp_path):
    (tmp_path / "b.html").write_text('<p id="two words">there</p>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#two%20words"></a><a href="https://example.org/"></a>'
        '<a href="b.html#three"></a><a href="c.html"></a>'
    )
    found = [(page.name, line) for page, line in visit.dead_links(tmp_path)]
    assert found == [("a.html", "no such place: b.html#three"), ("a.html", "leads nowhere: c.html")]


def test_without_a_site_the_program_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["visit", "--site", str(tmp_path)])
    with pytest.raises(SystemExit):
        visit.main()
    assert "run make docs" in capsys.readouterr().err
