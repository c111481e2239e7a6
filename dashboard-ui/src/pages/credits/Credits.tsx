import { PageHead } from "../../components/PageHead.tsx";

export function Credits() {
  return <PageHead title="Credits" />;
}
