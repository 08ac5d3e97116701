import assert from "node:assert/strict";
import test from "node:test";

import { claimMapper, Deny } from "assent-plugin-sdk";
import { department } from "../src/plugin.js";
import { ada } from "./ada.js";

test("a user without a mapped role has no department", () => {
  assert.deepEqual(department.map({ departments: {} }, ada), []);
});

test("settings are checked", () => {
  assert.deepEqual(department.validate({ departments: { editor: "Press" } }), []);
  assert.equal(department.validate({}).length, 1);
  assert.equal(department.validate({ departments: { editor: "" } }).length, 1);
});

test("the component returns the same results", () => {
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
  assert.deepEqual(department.exported.mapClaims(input), []);
  assert.throws(() => department.exported.mapClaims({ ...input, config: "" }), { tag: "fault" });
  assert.throws(() => department.exported.validate("{}"));

  const nobody = claimMapper<object>({
    description: { name: "nobody", version: "1.0.0", summary: "Lets nobody in", writes: [], denies: true },
    validate: () => [],
    map() {
      throw new Deny("Nobody gets in.");
    },
  });
  assert.throws(() => nobody.exported.mapClaims({ ...input, config: "{}" }), { tag: "deny", val: "Nobody gets in." });
});
