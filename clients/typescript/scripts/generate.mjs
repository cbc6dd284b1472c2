// Writes src/api.ts from schemas/api.schema.json, which `signet schema api` prints: a type for every value of the agent's
// calls, and the table of the calls. With --check it only says whether src/api.ts is that text.

import { readFileSync, writeFileSync } from "node:fs";

const here = (path) => new URL(path, import.meta.url);
const schema = JSON.parse(readFileSync(here("../../../schemas/api.schema.json"), "utf8"));

/** A schema as a type. */
function typeOf(schema, indent) {
    if (schema === true || Object.keys(schema).every((key) => key === "description" || key === "default")) {
        return "unknown";
    }
    if (schema.$ref) return schema.$ref.replace("#/$defs/", "");
    if ("const" in schema) return JSON.stringify(schema.const);
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
    const choices = schema.oneOf ?? schema.anyOf;
    if (choices) return [...new Set(choices.map((choice) => typeOf(choice, indent)))].join(" | ");
    if (Array.isArray(schema.type)) {
        return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(" | ");
    }
    switch (schema.type) {
        case "string":
            // A name among others that a later release may add: editors still complete the known ones.
            return schema.pattern ? "(string & {})" : "string";
        case "integer":
        case "number":
            return "number";
        case "boolean":
            return "boolean";
        case "null":
            return "null";
        case "array": {
            const item = typeOf(schema.items ?? true, indent);
            return /[|&{]/.test(item) ? `(${item})[]` : `${item}[]`;
        }
        case "object":
            return objectOf(schema, indent);
        default:
            throw new Error(`no type for ${JSON.stringify(schema)}`);
    }
}

function objectOf(schema, indent) {
    const members = Object.entries(schema.properties ?? {});
    if (members.length === 0) return "Record<string, never>";
    const required = new Set(schema.required ?? []);
    const inner = `${indent}    `;
    const lines = members.map(([name, value]) => {
        const optional = required.has(name) ? "" : "?";
        const member = /^[a-z]+$/.test(name) ? name : JSON.stringify(name);
        return `${comment(value, inner)}${inner}${member}${optional}: ${typeOf(value, inner)};\n`;
    });
    return `{\n${lines.join("")}${indent}}`;
}

function comment(schema, indent) {
    const text = schema.description?.replaceAll("\n", " ").replaceAll("*/", "* /");
    return text ? `${indent}/** ${text} */\n` : "";
}

/** The definitions that these schemas name, themselves and by others. */
function named(schemas) {
    const found = new Set();
    const look = (value) => {
        if (value === null || typeof value !== "object") return;
        const name = value.$ref?.replace("#/$defs/", "");
        if (name && !found.has(name)) {
            found.add(name);
            look(schema.$defs[name]);
        }
        Object.values(value).forEach(look);
    };
    schemas.forEach(look);
    return [...found].sort();
}

const calls = schema.oneOf.filter((call) => call["x-whose"] === "agent");
const told = schema["x-notifications"];
const parts = calls.map((call) => [call.properties.params ?? {}, call["x-result"]]);
const names = named([...parts.flat(), ...Object.values(told), schema["x-error"]]);
const types = names.map((name) => {
    const value = schema.$defs[name];
    return `${comment(value, "")}export type ${name} = ${typeOf(value, "")};\n`;
});
const table = calls.map((call, at) => {
    const [params, result] = parts[at];
    return `    ${JSON.stringify(call.title)}: { params: ${typeOf(params, "    ")}; result: ${typeOf(result, "    ")} };\n`;
});
const notifications = Object.entries(told).map(([name, value]) => `    ${JSON.stringify(name)}: ${typeOf(value, "    ")};\n`);
const reasons = schema.$defs.Reason.anyOf[0].enum.map((name) => `    ${JSON.stringify(name)},\n`);

const text = `// Written by scripts/generate.mjs from schemas/api.schema.json: \`npm run generate\` writes it anew.

${types.join("\n")}
/** Every call of the agent's socket: what it takes and gives. */
export interface Calls {
${table.join("")}}

/** What the daemon tells after \`inbox.follow\` and \`subscribe\`. */
export interface Notifications {
${notifications.join("")}}

/** The daemon's own reasons to refuse a call. */
export const REASONS = [
${reasons.join("")}] as const;
`;

const file = here("../src/api.ts");
if (process.argv.includes("--check")) {
    if (readFileSync(file, "utf8") !== text) {
        console.error("src/api.ts is not what schemas/api.schema.json says; npm run generate writes it anew");
        process.exit(1);
    }
} else {
    writeFileSync(file, text);
}
