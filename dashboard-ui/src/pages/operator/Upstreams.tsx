import { PageHead } from "../../components/PageHead.tsx";

export function Upstreams() {
  return <PageHead title="Upstreams" />;
}
