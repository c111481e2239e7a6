import { PageHead } from "../../components/PageHead.tsx";

export function CatalogPage() {
  return <PageHead title="Catalog" />;
}
