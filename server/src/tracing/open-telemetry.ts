import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { type AuditEntry, requestIdOf } from "../contract/entry.ts";

type SpanExporter = ConstructorParameters<typeof BatchSpanProcessor>[0];

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const OPERATIONS: Readonly<Record<string, string>> = {
  "POST /v1/chat/completions": "chat",
  "POST /dashboard/chat/completions": "chat",
  "POST /v1/embeddings": "embeddings",
};

interface OpenTelemetryOptions {
  readonly serviceName: string;
  readonly serviceVersion: string;
  readonly instanceId: string;
  /** Headers for the receiver, as OTEL_EXPORTER_OTLP_HEADERS has them: `name=value,…` with percent-encoded values. */
  readonly otlpHeaders: string | null;
  /** Called when the receiver refuses spans or does not answer, with the reason, and with `null` when it accepts some again. */
  readonly onChange: (reason: string | null) => void;
}

/** Reports ended requests as spans. */
export interface Tracing {
  /** `traceparent` is the client's header (W3C Trace Context), if it sent one. */
  ended(entry: AuditEntry, traceparent: string | null): void;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

/**
 * Sends a span for each request with a known key, except for calls of procedures, by OTLP over HTTP, following OpenTelemetry's
 * conventions for HTTP servers and generative AI. The exporter's own variables set the endpoint (`OTEL_EXPORTER_OTLP_ENDPOINT`), and those
 * of the resource (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`) win over the attributes given here. Spans contain neither prompts nor
 * answers.
 */
export function openTelemetry(options: OpenTelemetryOptions): Tracing {
  const { serviceName, serviceVersion, instanceId, otlpHeaders, onChange } = options;
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      "service.name": serviceName,
      "service.version": serviceVersion,
      "service.instance.id": instanceId,
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(reporting(exporterWith(otlpHeaders), onChange))],
  });
  const tracer = provider.getTracer("ostiary", serviceVersion);
  return {
    ended: (entry, traceparent) => {
      const startTime = entry.at;
      const operation = OPERATIONS[entry.endpoint];
      const name = operation === undefined ? spanNameOf(entry) : `${operation} ${entry.model ?? ""}`.trim();
      const span = tracer.startSpan(
        name,
        { kind: SpanKind.SERVER, startTime, attributes: attributesOf(entry, operation) },
        parentOf(traceparent),
      );
      if (entry.status >= 500 || (entry.status === 200 && entry.errorCode !== null)) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: entry.errorCode ?? "" });
      }
      span.end(new Date(startTime.getTime() + entry.latencyMs));
    },
    close: () => provider.shutdown(),
  };
}

function exporterWith(otlpHeaders: string | null): SpanExporter {
  return new OTLPTraceExporter({ headers: headersIn(otlpHeaders) });
}

/** The same exporter, which drops the spans of an export that fails. OpenTelemetry reports that to a logger of its own, which is not set. */
function reporting(exporter: SpanExporter, onChange: OpenTelemetryOptions["onChange"]): SpanExporter {
  let isFailing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const reason = result.code === 0 ? null : failureOf(result.error);
        if (isFailing !== (reason !== null)) onChange(reason);
        isFailing = reason !== null;
        done(result);
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}

/** What the log says of a failed export: the status of an answer, without its body, or why there was none. */
function failureOf(error: Error | undefined): string {
  const code = error !== undefined && "code" in error ? `${error.code} ` : "";
  return `${code}${error?.message ?? "no reason is known"}`;
}

function headersIn(text: string | null): Record<string, string> {
  const pairs = (text ?? "").split(",").map((pair) => pair.split(/=(.*)/s, 2));
  const named = pairs.filter(([name = "", value]) => name.trim() !== "" && value !== undefined);
  return Object.fromEntries(named.map(([name = "", value = ""]) => [name.trim(), decoded(value.trim())]));
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** A path that is not served has no route, and an arbitrary path must not become the name of a span. */
function spanNameOf({ endpoint, errorCode }: AuditEntry): string {
  const isServed = errorCode !== "not_found" && errorCode !== "method_not_allowed";
  return isServed ? endpoint : (endpoint.split(" ", 1)[0] ?? "");
}

function attributesOf(entry: AuditEntry, operation: string | undefined): Attributes {
  const [method = "", path = ""] = entry.endpoint.split(" ", 2);
  return present({
    "http.request.method": method,
    "http.route": path,
    "http.response.status_code": entry.status,
    "client.address": entry.sourceIp,
    "error.type": entry.errorCode,
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": entry.upstream,
    "gen_ai.request.model": operation === undefined ? undefined : entry.model,
    "gen_ai.response.model": operation === undefined || entry.status !== 200 ? undefined : entry.model,
    "gen_ai.usage.input_tokens": entry.promptTokens,
    "gen_ai.usage.output_tokens": entry.completionTokens,
    "ostiary.request_id": requestIdOf(entry.id),
    "ostiary.account_id": entry.accountId,
    "ostiary.key_id": entry.keyId,
    "ostiary.end_reason": entry.endReason,
    "ostiary.usage_source": entry.usageSource,
    "ostiary.cost_nano_usd": Number(entry.costNanoUsd),
    "ostiary.time_to_first_token_ms": entry.timeToFirstTokenMs,
  });
}

function present(attributes: Readonly<Record<string, string | number | null | undefined>>): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter((pair): pair is [string, string | number] => pair[1] != null),
  );
}

function parentOf(traceparent: string | null): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
