import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import { Failure } from "../../errors/failure.ts";
import { answerText } from "../answer-body.ts";
import { googleHeaders } from "../credential-headers.ts";
import {
  type ConversationCall,
  type Dialect,
  type DialectDefinition,
  type UpstreamCall,
  UpstreamRefused,
} from "../dialect.ts";
import { type FormChange, sendInForms } from "../form-changes.ts";
import { postJson } from "../post-json.ts";
import { readAnswer } from "../read-answer.ts";
import { jsonText } from "../refusal.ts";
import type { Transport } from "../transport.ts";
import { withoutThoughts } from "../unreadable-thoughts.ts";
import { totalUsage } from "../usage-counts.ts";
import { written } from "../write-conversation.ts";
import { ContentReader } from "./answer-events.ts";
import { contentBodyOf } from "./conversation-body.ts";
import { type Embedded, embeddedIn, embeddingsOf, embedRequestsOf } from "./embeddings.ts";
import { modelPath } from "./models.ts";

/** Google's Gemini API. */
export const google: DialectDefinition = {
  name: "google",
  settings: { ...UPSTREAM_SETTINGS, baseUrl: UPSTREAM_SETTINGS.baseUrl.optional() },
  open: ({ transport }) => googleDialect(transport),
};

/** Words by which Google refuses the signature of a thought or a call that is not its own. */
const UNREADABLE = /\bthought[ _]?signature\b/i;
/** The part of a request that Google may refuse. */
interface ContentForm {
  readonly keepsThoughts: boolean;
}
// Nothing is remembered, because it is the conversation that decides whether its thoughts can be read.
const CHANGES: readonly FormChange<UpstreamCall, ContentForm>[] = [
  { words: UNREADABLE, change: { keepsThoughts: false }, memory: null },
];
/** What a body has that names a file by its URL. In a text the quotation marks would be escaped. */
const FILE_URI = '"fileUri":';
const DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com/v1beta";

/** Google's Gemini API, which is a format of upstreams alone: all requests are translated. */
export function googleDialect(transport: Transport): Dialect {
  /** Sends a request with the operator's credential. @throws as {@link postJson}. */
  const post = (call: UpstreamCall, method: string, body: string) => {
    const { baseUrl, credential } = call.upstream;
    const url = `${baseUrl || DEFAULT_BASE_URL}/${modelPath(call.upstreamModel)}:${method}`;
    const namesFile = body.includes(FILE_URI);
    const refused = (status: number) => (namesFile && status === 403 ? refusedFile() : null);
    return postJson(transport, call, { url, headers: googleHeaders(credential), body, refused });
  };
  return {
    own: null,
    converse: async (call) => {
      const method = call.stream ? "streamGenerateContent?alt=sse" : "generateContent";
      const { response, body, answerTool, ignored } = await sendInForms(call, CHANGES, {
        usual: { keepsThoughts: true },
        textOf: (form) => writtenBody(call, form).text,
        send: (form) => {
          const { text, ...others } = writtenBody(call, form);
          return post(call, method, text).then((response) => ({ ...others, response }));
        },
      });
      const reader = new ContentReader(answerTool);
      const more = () => {
        const continuationToken = reader.takeToken();
        if (continuationToken === null) return null;
        return post(call, method, jsonText({ ...body, continuationToken }));
      };
      return readAnswer(response, { stream: call.stream, reader, ignored, more });
    },
    embed: async (call) => {
      const embedded: Embedded[] = [];
      try {
        for (const { method, body, count } of embedRequestsOf(call)) {
          const response = await post(call, method, JSON.stringify(body));
          embedded.push(embeddedIn(await answerText(response), count, call));
        }
      } catch (error) {
        // What was embedded before has used tokens.
        const isPartly = error instanceof UpstreamRefused && embedded.length > 0;
        throw isPartly ? error.reporting(totalUsage(embedded.map(({ usage }) => usage))) : error;
      }
      return embeddingsOf(embedded, call);
    },
  };
}

function writtenBody(call: ConversationCall, { keepsThoughts }: ContentForm) {
  const sent = keepsThoughts ? call : { ...call, conversation: withoutThoughts(call.conversation) };
  return written(() => contentBodyOf(sent));
}

/**
 * Google answers 403 for the URL of a file that it may not read, as for an operator's credential. It does not count as the credential's fault, which
 * would keep other accounts from the upstream, nor as a sign that the upstream works.
 */
function refusedFile(): UpstreamRefused {
  const message =
    "The model's provider refuses the request with its URLs of files. Send the files themselves.";
  return new UpstreamRefused(404, new Failure("invalid_request", message));
}
