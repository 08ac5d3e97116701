#!/usr/bin/env python3
"""Signs users in one after the other, each with a separate device, until a file appears. Then it prints the number of
successful sign-ins. The first failure ends it with an error. It needs only the standard library.
"""

import argparse
import json
import pathlib
import sys
import threading
import urllib.request

from first_sign_in import Device, sign_in

# The number of sign-ins of one user, because the sign-ins of a user within two minutes are limited.
SIGN_INS = 10


def add_user(base_url, token, name):
    """Add a user, and return the link that enrols the first device."""

    def post(path, body):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        address = f"{base_url}/admin/api/v1{path}"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    user = post("/users", {"name": name, "email": f"{name}@example.org", "profile": {"name": name}})
    return post(f"/users/{user['id']}/enrolments", {})["link"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("base_url", help="the base URL of the server")
    arguments.add_argument("--token", required=True, help="a token for the admin API")
    arguments.add_argument("--assent", required=True, help="the command of the authenticator")
    arguments.add_argument("--stores", required=True, help="the folder of the devices' keys")
    arguments.add_argument("--users", type=int, default=3, help="how many users sign in at the same time")
    arguments.add_argument("--until", required=True, type=pathlib.Path, help="the file that ends it")
    given = arguments.parse_args()
    counts, failures = [0] * given.users, []

    def work(index):
        name = "a new user"
        try:
            while not given.until.exists() and not failures:
                if counts[index] % SIGN_INS == 0:
                    name = f"user{index}-{counts[index]}"
                    device = Device(given.assent, f"{given.stores}/{name}.json")
                    device.run("enrol", add_user(given.base_url, given.token, name))
                sign_in(given.base_url, name, device)
                counts[index] += 1
        except Exception as error:  # Every exception is a failed sign-in.
            failures.append(f"{name}, sign-in {counts[index] + 1}: {error!r} {getattr(error, 'url', '')}")

    threads = [threading.Thread(target=work, args=(index,)) for index in range(given.users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit("\n".join(failures))
    print(sum(counts))


if __name__ == "__main__":
    main()
