import assert from "node:assert/strict";
import test from "node:test";

import { Deny, set } from "../src/assent.js";
import { department } from "../src/plugin.js";
import { ada } from "./ada.js";

test("the first role with a department counts", () => {
  const config = { departments: { editor: "Press", reader: "Library" } };
  assert.deepEqual(department.map(config, ada), [set("department", "Library")]);
});

test("who belongs nowhere does not get in", () => {
  assert.throws(() => department.map({ departments: {} }, ada), Deny);
  assert.deepEqual(department.map({ departments: {}, otherwise: "Guests" }, ada), [set("department", "Guests")]);
});

test("settings are checked", () => {
  assert.deepEqual(department.validate({ departments: { editor: "Press" } }), []);
  assert.equal(department.validate({}).length, 1);
  assert.equal(department.validate({ departments: { editor: "" } }).length, 1);
});

test("the component says the same", () => {
  const input = {
    ...ada,
    roles: [...ada.roles],
    scopes: [...ada.scopes],
    amr: [...ada.amr],
    requested: [],
    application: JSON.stringify(ada.application),
    account: JSON.stringify(ada.account),
    user: JSON.stringify(ada.user),
    current: JSON.stringify(ada.current),
    config: '{"departments": {}}',
  };
  assert.throws(() => department.exported.mapClaims(input), {
    tag: "deny",
    val: "Your account belongs to no department.",
  });
  assert.throws(() => department.exported.mapClaims({ ...input, config: "" }), { tag: "fault" });
  assert.throws(() => department.exported.validate("{}"));
});
