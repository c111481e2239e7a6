import { formatBytes } from "../../components/format.ts";
import textStyles from "../../components/text.module.css";

/** Offers what a model has produced as a file. */
export function DownloadLine({ name, url, bytes }: { name: string; url: string; bytes: number }) {
  return (
    <p className={textStyles.small}>
      <a href={url} download={name}>
        Download {name}
      </a>{" "}
      {formatBytes(bytes)}
    </p>
  );
}
