import { PageHead } from "../../components/PageHead.tsx";

export function RotationGuide() {
  return <PageHead title="Rotation" />;
}
