import { PageHead } from "../../components/PageHead.tsx";

export function Overview() {
  return <PageHead title="Overview" />;
}
