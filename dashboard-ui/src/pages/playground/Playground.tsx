import { PageHead } from "../../components/PageHead.tsx";

export function Playground() {
  return <PageHead title="Playground" />;
}
