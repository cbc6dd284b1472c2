// Holds a dashboard against the types that Grafana publishes of dashboards, panels and Prometheus' queries: `dashboard-types.mjs
// FOLDER FILE`, where FOLDER has Grafana's types and a compiler below node_modules. What Grafana would ignore (a member that it does not
// know, a word that it does not take) is a fault that the compiler names.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder, file] = process.argv.slice(2);
const dashboard = JSON.parse(readFileSync(file, "utf8"));

/** A statement for the compiler: this value is of that type, and has nothing else. */
const is = (type, value) => `void (${JSON.stringify(value, null, 1)} satisfies ${type});`;

const OPTIONS = { stat: "Written<stat.Options>", timeseries: "Written<timeseries.Options>" };
const statements = [is("Sparse<dashboard.Dashboard>", { ...dashboard, panels: [] })];
for (const { targets, options, fieldConfig, ...panel } of dashboard.panels) {
    if (!Object.hasOwn(OPTIONS, panel.type)) throw new Error(`${file}: ${panel.type} is no sort of panel whose options are held here`);
    const { custom, ...defaults } = fieldConfig.defaults;
    statements.push(
        `// ${JSON.stringify(panel.title)}`,
        is("Sparse<dashboard.Panel>", { ...panel, fieldConfig: { ...fieldConfig, defaults } }),
        is(OPTIONS[panel.type], options ?? {}),
        is("Written<common.GraphFieldConfig>", custom ?? {}),
        ...targets.map((target) => is('Sparse<Omit<prometheus.Dataquery, "_implementsDataqueryVariant">>', target)),
    );
}

writeFileSync(join(folder, "dashboard.ts"), `import type * as common from "@grafana/grafana-foundation-sdk/common";
import type * as dashboard from "@grafana/grafana-foundation-sdk/dashboard";
import type * as prometheus from "@grafana/grafana-foundation-sdk/prometheus";
import type * as stat from "@grafana/grafana-foundation-sdk/stat";
import type * as timeseries from "@grafana/grafana-foundation-sdk/timeseries";

// A file has words where the types have members of an enum.
type Sparse<T> = T extends string ? \`\${T}\` : T extends (infer One)[] ? Sparse<One>[] : T extends object ? { [Name in keyof T]: Sparse<T[Name]> } : T;
// Of options and fields Grafana puts in what is left out.
type Written<T> = T extends string ? \`\${T}\` : T extends (infer One)[] ? Written<One>[] : T extends object ? { [Name in keyof T]?: Written<T[Name]> } : T;

${statements.join("\n")}
`);
const compilerOptions = { noEmit: true, strict: true, skipLibCheck: true, module: "esnext", moduleResolution: "bundler", target: "es2022", types: [] };
writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["dashboard.ts"] }));
const { status, stdout, error } = spawnSync(join(folder, "node_modules/.bin/tsc"), ["--pretty", "false"], { cwd: folder, encoding: "utf8" });
if (error !== undefined) throw error;
if (status !== 0) {
    console.error(`${file} is not as Grafana has it:\n${stdout}`);
    process.exit(1);
}
console.log(`${file}: ${dashboard.panels.length} panels as Grafana has them`);
