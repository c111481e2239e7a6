/** The bundled database can't be used. The message is one line that tells the operator what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
}
