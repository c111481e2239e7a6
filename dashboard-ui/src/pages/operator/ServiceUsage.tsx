import { PageHead } from "../../components/PageHead.tsx";

export function ServiceUsage() {
  return <PageHead title="Usage" />;
}
