// The claim `department`: the user's department, by the user's roles in the application.

import { name, version } from "../package.json";
import { claimMapper, set } from "assent-plugin-sdk";

/** The plugin's settings. */
export interface Config {
  /** The department of each role. */
  departments: Record<string, string>;
  /** The department of all other users. Without it they have no department and no claim. */
  otherwise?: string;
}

export const department = claimMapper<Config>({
  description: {
    name,
    version,
    summary: "Sends applications the department of a user",
    writes: ["department"],
    config_schema: {
      type: "object",
      required: ["departments"],
      additionalProperties: false,
      properties: {
        departments: { type: "object", additionalProperties: { type: "string" } },
        otherwise: { type: "string" },
      },
    },
  },

  // The operator writes the settings, so the plugin must check them. Each error is one plain sentence.
  validate(config) {
    const errors = Object.keys(config)
      .filter((key) => key !== "departments" && key !== "otherwise")
      .map((key) => `there is no setting \`${key}\``);
    if (typeof config.departments !== "object" || config.departments === null) {
      return [...errors, "`departments` must be a table: the department of each role"];
    }
    for (const [role, department] of Object.entries(config.departments)) {
      if (typeof department !== "string" || department === "") {
        errors.push(`the department of the role \`${role}\` is empty`);
      }
    }
    return errors;
  },

  map(config, input) {
    const role = input.roles.find((role) => Object.hasOwn(config.departments, role));
    const department = role === undefined ? config.otherwise : config.departments[role];
    return department === undefined ? [] : [set("department", department)];
  },
});

// The component's export: the interface `mapper` of `assent:claims@1.0.0`.
export const mapper = department.exported;
