//! A browser as far as the desk relies on one: cookies that know no ports, `SameSite=Strict`, redirects that are kept for one
//! address and port, a page that leads on by itself, and forms.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter();
        let found = named.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// One request on a connection of its own, with these headers and no other but its length.
pub fn ask(host: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    raw(host, &format!("{head}\r\n{body}"))
}

/// The bytes as they are.
pub fn raw(host: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(host).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    // Ignore a failed write: a desk that refuses a request by its head may close the connection before it has read the
    // body.
    let _ = stream.write_all(request.as_bytes());
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    parse(&String::from_utf8_lossy(&bytes))
}

fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let status = status.and_then(|status| status.parse().ok()).unwrap_or(0);
    let pair = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.trim().to_owned()))
    };
    let headers: Vec<(String, String)> = lines.filter_map(pair).collect();
    let answer = Answer {
        status,
        headers,
        body: String::new(),
    };
    let is_chunked = answer.header("transfer-encoding") == Some("chunked");
    let body = if is_chunked {
        unchunked(body)
    } else {
        body.to_owned()
    };
    Answer { body, ..answer }
}

fn unchunked(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        whole.push_str(rest.get(..size).unwrap_or(rest));
        text = rest.get(size + 2..).unwrap_or("");
    }
    whole
}

/// Where a browser is, and what it keeps.
#[derive(Default)]
pub struct Browser {
    /// Address without a port, path, name, value.
    pub cookies: Vec<(String, String, String, String)>,
    /// Redirects that were said to be permanent, by the whole address.
    pub moved: HashMap<String, String>,
    pub language: Option<&'static str>,
    /// The address in its bar.
    pub at: String,
}

impl Browser {
    /// Follows a link of a page of that site: `None` for a file, or whatever else is no site.
    pub fn follow(&mut self, from: Option<&str>, url: &str) -> Answer {
        let mut url = url.to_owned();
        let mut is_same_site = from.is_some_and(|from| ip(from) == ip(&url));
        for _ in 0..12 {
            let (bare, fragment) = url.split_once('#').map_or((url.as_str(), ""), |both| both);
            let (bare, fragment) = (bare.to_owned(), fragment.to_owned());
            if let Some(to) = self.moved.get(&bare) {
                url = with_fragment(&absolute(&bare, to), &fragment);
                continue;
            }
            let answer = self.load(&bare, is_same_site);
            if let (303, Some(to)) = (answer.status, answer.header("location")) {
                url = absolute(&bare, to);
                continue;
            }
            if let (308, Some(to)) = (answer.status, answer.header("location")) {
                let to = absolute(&bare, to);
                if answer
                    .header("cache-control")
                    .is_some_and(|kept| kept.contains("max-age"))
                {
                    self.moved.insert(bare.clone(), to.clone());
                }
                url = with_fragment(&to, &fragment);
                continue;
            }
            self.at = with_fragment(&bare, &fragment);
            let Some(to) = refresh(&answer.body) else {
                return answer;
            };
            // The page itself leads on, as its `refresh` says. So the next request comes from this page's site, and a
            // browser sends strict cookies only if the next page is of the same site.
            is_same_site = ip(&absolute(&bare, &to)) == ip(&bare);
            url = absolute(&bare, &to);
        }
        panic!("it goes round in circles at {url}");
    }

    /// Types an address, or follows a link of the page that it is at.
    pub fn go(&mut self, to: &str) -> Answer {
        let from = self.at.clone();
        let url = if to.starts_with("http") {
            to.to_owned()
        } else {
            absolute(&from, to)
        };
        self.follow(Some(&from), &url)
    }

    /// Sends the only form of a page, or the one with that button.
    pub fn submit(&mut self, page: &str, button: &str, ticks: &[(&str, &str)]) -> Answer {
        let forms = page.split("<form ").skip(1);
        let form = { forms }.find(|form| {
            form.split("</form>")
                .next()
                .is_some_and(|form| form.contains(button))
        });
        let form = form.unwrap_or_else(|| panic!("no form with {button} in {page}"));
        let form = form.split("</form>").next().unwrap();
        let token = between(form, "name=\"token\" value=\"", "\"").expect("a token");
        let mut body = format!("token={token}");
        for (name, value) in ticks {
            body.push_str(&format!("&{name}={value}"));
        }
        let to = absolute(&self.at, "do");
        self.post(&to, &body)
    }

    /// A form of a page of the desk's own.
    pub fn post(&mut self, url: &str, body: &str) -> Answer {
        let (host, path) = split(url);
        let cookie = self.cookie(url);
        let origin = format!("http://{host}");
        let answer = ask(
            host,
            "POST",
            path,
            &[
                ("Host", host),
                ("Origin", &origin),
                ("Sec-Fetch-Site", "same-origin"),
                ("Sec-Fetch-Dest", "document"),
                ("Content-Type", "application/x-www-form-urlencoded"),
                ("Accept-Language", self.language.unwrap_or("en")),
                ("Cookie", &cookie),
            ],
            body,
        );
        self.at = url.to_owned();
        answer
    }

    /// What it sends as `Cookie` to that address: ports are nothing to a cookie.
    pub fn cookie(&self, url: &str) -> String {
        let (host, path) = split(url);
        let path = path.split('?').next().unwrap();
        let fits = |at: &str| path.starts_with(at);
        let mine = self
            .cookies
            .iter()
            .filter(|(ip, at, ..)| *ip == bare_ip(host) && fits(at));
        let pairs: Vec<String> = mine
            .map(|(_, _, name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    fn load(&mut self, url: &str, is_same_site: bool) -> Answer {
        let (host, path) = split(url);
        // All cookies of the desk are `SameSite=Strict`, as another test checks: a request that comes from another site
        // carries none.
        let cookie = if is_same_site {
            self.cookie(url)
        } else {
            String::new()
        };
        let mut headers = vec![
            ("Host", host),
            ("Accept-Language", self.language.unwrap_or("en")),
            ("Sec-Fetch-Dest", "document"),
            ("Sec-Fetch-Mode", "navigate"),
        ];
        if !cookie.is_empty() {
            headers.push(("Cookie", &cookie));
        }
        let answer = ask(host, "GET", path, &headers, "");
        for (name, value) in &answer.headers {
            if name.eq_ignore_ascii_case("set-cookie") {
                self.keep(host, value);
            }
        }
        answer
    }

    fn keep(&mut self, host: &str, line: &str) {
        assert!(
            line.contains("HttpOnly") && line.contains("SameSite=Strict"),
            "{line}"
        );
        let (name, rest) = line.split_once('=').unwrap();
        let value = rest.split(';').next().unwrap();
        let path = between(line, "Path=", ";")
            .or_else(|| line.split("Path=").nth(1))
            .unwrap();
        let (ip, path) = (bare_ip(host), path.to_owned());
        self.cookies
            .retain(|(known, at, named, _)| (known, at, named.as_str()) != (&ip, &path, name));
        self.cookies
            .push((ip, path, name.to_owned(), value.to_owned()));
    }
}

/// The text between two others.
pub fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

/// The address of the first link with that text.
pub fn link(page: &str, text: &str) -> String {
    let at = page
        .find(&format!(">{text}</a>"))
        .unwrap_or_else(|| panic!("no link {text} in {page}"));
    let before = &page[..at];
    let href = before.rsplit_once("href=\"").unwrap().1;
    href.split('"').next().unwrap().replace("&amp;", "&")
}

/// Host and port, and the rest.
pub fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    rest.find('/').map_or((rest, "/"), |at| rest.split_at(at))
}

fn bare_ip(host: &str) -> String {
    host.split(':').next().unwrap().to_owned()
}

fn ip(url: &str) -> String {
    bare_ip(split(url).0)
}

fn absolute(base: &str, to: &str) -> String {
    let (host, path) = split(base);
    let path = path.split(['?', '#']).next().unwrap();
    let to = to.strip_prefix("./").unwrap_or(to);
    match to {
        _ if to.starts_with("http") => to.to_owned(),
        _ if to.starts_with('/') => format!("http://{host}{to}"),
        _ => format!("http://{host}{}/{to}", path.rsplit_once('/').unwrap().0),
    }
}

fn with_fragment(url: &str, fragment: &str) -> String {
    match fragment.is_empty() || url.contains('#') {
        true => url.to_owned(),
        false => format!("{url}#{fragment}"),
    }
}

fn refresh(page: &str) -> Option<String> {
    let content = between(page, "http-equiv=\"refresh\" content=\"", "\"")?;
    // HTML lets the space before `url` be left out.
    let to = content
        .strip_prefix("0;")?
        .trim_start()
        .strip_prefix("url=")?;
    Some(to.replace("&amp;", "&"))
}
