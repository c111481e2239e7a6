// The API reference: a page for each tag of the OpenAPI document, and one that lists all operations.
import { EXAMPLE_ID, exampleOf } from "./example.mjs";
import { anchorOf, cellCode, codeBlock, escapeHtml, heading, scrolling } from "./html.mjs";
import { fieldHtml, fieldsHtml, inlineCode, typeOf } from "./schema.mjs";

/** Where the examples send their requests. `docs.js` writes the address of the service in its place. */
const BASE_URL = "http://127.0.0.1:8080";
/** The models of the sandbox that answer the examples of operations which not every model serves. */
const MODELS = { "/v1/embeddings": { model: "sandbox/embedding" } };
/** Answers that are not JSON are described by their format. */
const JSON_TYPES = ["application/json", "application/x-ndjson"];

/** Pages of the API reference: their addresses, titles, markup, headings and texts for the search. */
export function apiPages(document) {
  const resolve = resolverOf(document);
  const operations = operationsOf(document);
  const groups = document.tags.map((tag) => ({
    ...tag,
    address: `/docs/api/${anchorOf(tag.name)}`,
    operations: operations.filter(({ tags }) => tags.includes(tag.name)),
  }));
  const untagged = operations.filter(({ tags }) => !groups.some(({ name }) => tags.includes(name)));
  if (untagged.length > 0) throw new Error(`no page for ${untagged.map(({ path }) => path).join(", ")}`);
  return [
    overviewPage(document, groups, resolve),
    ...groups.map((group) => groupPage(group, document, resolve)),
  ];
}

function operationsOf({ paths, security }) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      security,
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  );
}

/** Schemas and headers that refer to a component are replaced by it. */
function resolverOf({ components }) {
  return (described) => {
    const [kind, name] = described.$ref?.replace("#/components/", "").split("/") ?? [];
    return name === undefined ? described : components[kind][name];
  };
}

function overviewPage(document, groups, resolve) {
  const parts = [
    { id: "authentication", title: "Authentication", html: authenticationHtml(document) },
    { id: "operations", title: "Operations", html: groups.map(listHtml).join("") },
    { id: "errors", title: "Errors", html: errorsIntroduction(document, resolve) },
  ];
  const body = `<p>${inlineCode(document.info.description)}</p>
<p>The <a href="/docs/reference/api">guide to the HTTP API</a> explains what operations have in common: limits, streams, idempotency and
the audit log. The same reference for programs is the OpenAPI document at <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>
${parts.map(({ id, title, html }) => heading(2, id, title) + html).join("")}`;
  return {
    address: "/docs/api",
    title: "API reference",
    short: "Overview",
    body,
    headings: parts.map(({ id, title }) => ({ id, title, depth: 2 })),
    sections: [{ id: "", title: "", text: document.info.description }],
  };
}

function authenticationHtml({ components }) {
  const items = Object.values(components.securitySchemes).map(
    ({ in: place, name, description }) =>
      `<li><code>${place === "header" ? `${name}: …` : "Authorization: Bearer …"}</code>: ${inlineCode(description)}</li>`,
  );
  return `<ul>${items.join("\n")}</ul>\n`;
}

function listHtml({ name, address, operations }) {
  const rows = operations.map(
    ({ method, path, operationId, summary }) =>
      `<tr><td><a href="${address}#${operationId}">${cellCode(`${method} ${path}`)}</a></td><td>${inlineCode(summary)}</td></tr>`,
  );
  const table = `<table><caption>${escapeHtml(name)}</caption><thead><tr><th scope="col">Operation</th><th scope="col">What it does</th></tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
  return scrolling(table, name);
}

function errorsIntroduction({ components }, resolve) {
  return `<p>A refused request is answered with this JSON. <a href="/docs/reference/errors">Errors</a> lists every code and what to do.</p>
${fieldsHtml(components.schemas.Error, { resolve, isAnswer: true })}`;
}

function groupPage({ name, description, address, operations }, document, resolve) {
  return {
    address,
    title: name,
    body: `<p>${escapeHtml(description)}</p>\n${operations.map((each) => operationHtml(each, document, resolve)).join("")}`,
    headings: operations.map(({ operationId, method, path }) => ({
      id: operationId,
      depth: 2,
      title: `${method} ${path}`,
    })),
    sections: [
      { id: "", title: "", text: description },
      ...operations.map(({ operationId, method, path, summary }) => ({
        id: operationId,
        title: `${method} ${path}`,
        text: `${operationId} ${summary}`,
      })),
    ],
  };
}

function operationHtml(operation, document, resolve) {
  const { operationId, method, path, summary, parameters = [], requestBody, responses } = operation;
  const title = `<span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(path)}</code>`;
  const body = requestBody?.content["application/json"]?.schema;
  return `<section class="operation" aria-labelledby="${operationId}">
${heading(2, operationId, title)}<div class="halves"><div>
<p>${inlineCode(summary)}</p>
<p class="limits">${credentialsOf(operation, document)}</p>
${parametersHtml(parameters, resolve)}${bodyHtml(body, resolve)}${answersHtml(responses, resolve)}</div>
<div class="examples">
${codeBlock(curlOf(operation, body, resolve), "sh", `Request of ${operationId}`)}${answerExample(operationId, responses, resolve)}</div></div>
</section>
`;
}

function credentialsOf({ security }, { components }) {
  const names = security.flatMap((each) => Object.keys(each));
  const said = names.map((name) => components.securitySchemes[name].description);
  return inlineCode(`Credential: ${said.map((text) => text[0].toLowerCase() + text.slice(1)).join(", or ")}`);
}

function parametersHtml(parameters, resolve) {
  if (parameters.length === 0) return "";
  const items = parameters.map(({ name, in: place, description, required, schema }) =>
    fieldHtml({ name, field: schema, isRequired: required, description, place }, { resolve }),
  );
  return `<h3>Parameters</h3><ul class="fields">\n${items.join("\n")}\n</ul>\n`;
}

function bodyHtml(body, resolve) {
  if (body === undefined) return "";
  const fields = fieldsHtml(body, { resolve });
  return fields === "" ? "" : `<h3>Body</h3>${fields}\n`;
}

function answersHtml(responses, resolve) {
  const [succeeded, failed] = [true, false].map((isSuccess) =>
    Object.entries(responses).filter(([status]) => status.startsWith("2") === isSuccess),
  );
  const answers = succeeded.map(([status, { description, content = {}, headers = {} }]) => {
    const kinds = Object.entries(content).map(
      ([type, { schema }]) =>
        `<p><code>${type}</code>: ${escapeHtml(typeOf(schema, resolve))}</p>${JSON_TYPES.includes(type) ? fieldsHtml(schema, { resolve, isAnswer: true }) : ""}`,
    );
    return `<h3>Answer ${status}</h3>${description === "The answer" ? "" : `<p>${inlineCode(description)}</p>`}${kinds.join("\n")}${headersHtml(headers, resolve)}`;
  });
  const rows = failed.map(
    ([status, { description }]) => `<tr><td>${status}</td><td>${inlineCode(description)}</td></tr>`,
  );
  const table = `<table><thead><tr><th scope="col">Status</th><th scope="col">Codes</th></tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
  return `${answers.join("\n")}<details class="errors"><summary>Errors</summary>${scrolling(table, "Errors")}<p><a href="/docs/reference/errors">What to do about each code</a></p></details>\n`;
}

function headersHtml(headers, resolve) {
  const items = Object.entries(headers).map(([name, header]) => {
    const { description, schema } = resolve(header);
    return fieldHtml({ name, field: schema, description }, { resolve });
  });
  if (items.length === 0) return "";
  return `<details><summary>Headers</summary><ul class="fields">${items.join("\n")}</ul></details>`;
}

/** A command that sends the request with its required parameters and fields. */
function curlOf(operation, body, resolve) {
  const { method, path, parameters = [], security } = operation;
  const needed = parameters.filter(({ required }) => required);
  const query = needed
    .filter((each) => each.in === "query")
    .map(({ name, schema }) => `${name}=${encodeURIComponent(exampleOf(schema, resolve, name))}`);
  const url = BASE_URL + path.replace("{id}", idOf(path)) + (query.length === 0 ? "" : `?${query.join("&")}`);
  const variable = "key" in (security[0] ?? {}) ? "OSTIARY_API_KEY" : "OSTIARY_MANAGEMENT_TOKEN";
  const lines = [`curl ${method === "GET" || body !== undefined ? "" : `-X ${method} `}"${url}"`];
  lines.push(`-H "Authorization: Bearer $${variable}"`);
  if (body !== undefined) {
    lines.push(`-H "Content-Type: application/json"`);
    const example = { ...exampleOf(body, resolve), ...MODELS[path] };
    lines.push(`-d '${JSON.stringify(example, null, 2)}'`);
  }
  return lines.join(" \\\n  ");
}

function idOf(path) {
  if (path.startsWith("/v1/models/")) return "sandbox/echo";
  return path.startsWith("/v1/responses/") ? "resp_0198c7de5d3a7c219f442b1e6a70c5d8" : EXAMPLE_ID;
}

function answerExample(operationId, responses, resolve) {
  const schema = responses["200"]?.content?.["application/json"]?.schema;
  if (schema === undefined || fieldsHtml(schema, { resolve }) === "") return "";
  const example = JSON.stringify(exampleOf(schema, resolve), null, 2);
  return codeBlock(example, "json", `Answer of ${operationId}`);
}
