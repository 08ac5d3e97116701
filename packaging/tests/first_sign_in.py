#!/usr/bin/env python3
"""Signs in to a new installation like its first user: enrols a device, signs in to the portal, approves.

This program is the browser, without JavaScript. The device is the headless authenticator of the command `assent`.
It prints the duration in seconds. It needs only the standard library.
"""

import argparse
import http.cookiejar
import re
import shlex
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from html.parser import HTMLParser


class Forms(HTMLParser):
    """The forms of a page, each with its action and its fields."""

    def __init__(self, page):
        super().__init__()
        self.forms = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "form":
            self.forms.append((values.get("action", ""), {}))
        elif tag == "input" and self.forms and "name" in values and values.get("type") != "checkbox":
            self.forms[-1][1][values["name"]] = values.get("value", "")


class Browser:
    """A browser without JavaScript that keeps cookies and follows redirects."""

    def __init__(self):
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(cookies)
        self.address = self.page = ""

    def open(self, address, fields=None):
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        request = urllib.request.Request(urllib.parse.urljoin(self.address, address), data)
        if data is not None:
            here = urllib.parse.urlsplit(self.address)
            request.add_header("Origin", f"{here.scheme}://{here.netloc}")
        with self.opener.open(request, timeout=30) as answer:
            self.address = answer.geturl()
            self.page = answer.read().decode()

    def form_with(self, field):
        for action, fields in Forms(self.page).forms:
            if field in fields:
                return action, fields
        raise SignInError(f"no form with a field {field} at {self.address}:\n{self.page}")


class SignInError(Exception):
    """A failed sign-in."""


class Device:
    """A device of the headless authenticator, with its key in a file."""

    def __init__(self, command, store):
        self.command, self.store = shlex.split(command), store

    def run(self, *words):
        subprocess.run([*self.command, "authenticator", *words, "--store", self.store], check=True, stdout=sys.stderr)


def sign_in(base_url, user, device):
    """Sign in to the portal with a new browser, and approve on the device."""
    began = time.monotonic()
    browser = Browser()
    browser.open(f"{base_url}/sign-in")
    action, fields = browser.form_with("name")
    browser.open(action, fields | {"name": user})
    number = re.search(r'id="number"[^>]*>(\d\d)<', browser.page)
    if number is None:
        raise SignInError(f"no number at {browser.address}:\n{browser.page}")
    device.run("decide", "--number", number[1])
    while 'id="number"' in browser.page and time.monotonic() - began < 60:
        browser.open(browser.address)
        time.sleep(0.1)
    if 'class="signed-in"' not in browser.page:
        raise SignInError(f"not signed in at {browser.address}:\n{browser.page}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("base_url", help="the base URL of the server")
    arguments.add_argument("user", help="the user's name")
    arguments.add_argument("--assent", default="assent", help="the command of the authenticator")
    arguments.add_argument("--store", required=True, help="the file of the device's key")
    arguments.add_argument("--link", help="the enrolment link; without it the device is enrolled already")
    given = arguments.parse_args()
    began = time.monotonic()
    device = Device(given.assent, given.store)
    if given.link:
        device.run("enrol", given.link)
    try:
        sign_in(given.base_url, given.user, device)
    except SignInError as error:
        sys.exit(str(error))
    print(f"{time.monotonic() - began:.1f}")


if __name__ == "__main__":
    main()
