import { PageHead } from "../../components/PageHead.tsx";

export function Models() {
  return <PageHead title="Models" />;
}
