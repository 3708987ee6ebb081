//! The page that `turnlock report` makes, in a browser: without a window, as wide as a desk's and as a phone's, light and dark.

use super::*;
use serde_json::{Value, json};
use std::fs;

/// The names that the browser goes by.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// What a browser made of a page.
struct Shown {
    /// Its elements, when all was loaded.
    dom: String,
    /// What it had to say about it.
    console: Vec<String>,
}

/// Has the browser show a page; `None`: there is none.
fn show(page: &str, options: &[&str]) -> Option<Shown> {
    let browser = BROWSERS.into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    });
    let Some(browser) = browser else {
        println!("left out: no Chromium is installed");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    fs::write(&path, page).unwrap();
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--enable-logging=stderr",
        "--virtual-time-budget=5000",
    ]);
    // As root it has no sandbox; what it shows here is our own.
    command.args(["--no-sandbox", "--disable-dev-shm-usage", "--dump-dom"]).args(options);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    let output = limit::output(command.arg(format!("file://{}", path.display()))).unwrap();
    let said = errors(&output);
    assert!(output.status.success(), "{said}");
    let console = said.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    Some(Shown { dom: String::from_utf8(output.stdout).unwrap(), console })
}

/// Has the page shown so wide, and measures it from outside: it may run nothing itself.
fn measure(page: &str, width: u32, options: &[&str]) -> Option<Value> {
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    let frame = format!(
        "<!DOCTYPE html><iframe id=\"page\" style=\"border:0;width:{width}px;height:900px\" srcdoc=\"{quoted}\"></iframe>\
         <pre id=\"measured\"></pre><script>{MEASURE}</script>"
    );
    let shown = show(&frame, options)?;
    assert_eq!(shown.console, Vec::<String>::new());
    let measured = shown.dom.split("<pre id=\"measured\">").nth(1).unwrap().split("</pre>").next().unwrap();
    Some(
        serde_json::from_str(&measured.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
            .unwrap(),
    )
}

/// Of each plot that is shown: its size, and how many shapes and letters are in it, and how many of these are outside of it.
const MEASURE: &str = r##"
document.getElementById("page").onload = ({target: frame}) => {
  const page = frame.contentDocument, style = element => frame.contentWindow.getComputedStyle(element);
  const plots = [...page.querySelectorAll("svg")].filter(svg => svg.getBoundingClientRect().width > 0).map(svg => {
    const box = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")];
    const outside = texts.filter(text => {
      const of = text.getBoundingClientRect();
      return of.left < box.left - 1 || of.right > box.right + 1 || of.top < box.top - 1 || of.bottom > box.bottom + 1;
    });
    return {
      width: box.width, height: box.height, texts: texts.length, outside: outside.map(text => text.textContent.trim()),
      shapes: svg.querySelectorAll("rect, circle, polyline, line, polygon").length,
      letters: Math.min(...texts.map(text => text.getBoundingClientRect().height)),
      ink: [...new Set(texts.map(text => style(text).fill))],
    };
  });
  document.getElementById("measured").textContent = JSON.stringify({
    plots, page: style(page.body).backgroundColor, ink: style(page.body).color,
    scrolls: page.documentElement.scrollWidth - page.documentElement.clientWidth,
  });
};
"##;

/// How light a colour is, "rgb(r, g, b)", from 0 to 255.
fn lightness(colour: &Value) -> f64 {
    let text = colour.as_str().unwrap();
    let numbers = text.trim_start_matches("rgb(").trim_end_matches(')').split(", ");
    let [red, green, blue] = numbers.map(|number| number.parse::<f64>().unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("{text}")
    };
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[test]
fn the_browser_has_nothing_to_complain_of() {
    Scene::with(|scene| {
        let page = scene.printed(&["report"]);
        let Some(shown) = show(&page, &[]) else { return };
        assert_eq!(shown.console, Vec::<String>::new());
        assert!(shown.dom.contains("Order of service"));
        // It would say so, and the page's policy keeps out what does not belong to it.
        let spoilt =
            page.replacen("<main>", "<main><img src=\"http://127.0.0.1:9/x.png\"><script>x</script>", 1);
        assert_ne!(page, spoilt);
        let shown = show(&spoilt, &[]).unwrap();
        assert!(shown.console.len() >= 2, "{:?}", shown.console);
    });
}

#[test]
fn plots_are_to_be_seen_at_every_width_light_and_dark() {
    Scene::with(|scene| {
        let page = scene.printed(&["report"]);
        for (width, least) in [(1200, 600.0), (375, 300.0)] {
            for (scheme, is_dark) in [("1", false), ("0", true)] {
                let option = format!("--blink-settings=preferredColorScheme={scheme}");
                let Some(measured) = measure(&page, width, &[&option]) else { return };
                let about = format!("{width} {scheme}: {measured:#}");
                let plots = measured["plots"].as_array().unwrap();
                assert!(plots.len() >= 6, "{about}");
                for plot in plots {
                    let number = |field: &str| plot[field].as_f64().unwrap();
                    assert!(number("width") >= least && number("height") >= 60.0, "{about}");
                    assert!(number("shapes") >= 3.0 && number("texts") >= 2.0, "{about}");
                    // To be read, and all of it there.
                    assert!(number("letters") >= 10.0, "{about}");
                    assert_eq!(plot["outside"], json!([]), "{about}");
                    for ink in plot["ink"].as_array().unwrap() {
                        assert!((lightness(ink) - lightness(&measured["page"])).abs() > 100.0, "{about}");
                    }
                }
                assert_eq!(lightness(&measured["page"]) < 80.0, is_dark, "{about}");
                assert!(
                    (lightness(&measured["ink"]) - lightness(&measured["page"])).abs() > 100.0,
                    "{about}"
                );
                // Only tables scroll to the side, each by itself.
                assert_eq!(measured["scrolls"], 0, "{about}");
            }
        }
    });
}
