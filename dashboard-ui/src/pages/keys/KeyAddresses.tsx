import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { useFolded } from "../../components/Folded.tsx";
import { formatCount, formatDateTime } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";
import textStyles from "../../components/text.module.css";

const REFRESH_MS = 30_000;
/** The number of addresses that the service returns. */
const MAX_ADDRESSES = 100;

interface Address {
  readonly ip: string;
  readonly lastUsedAt: Date;
}

/** The addresses from which a key is used. */
export function KeyAddresses({ id }: { readonly id: string }) {
  const query = useQuery(api.keys.addresses.queryOptions({ id }, { refetchInterval: REFRESH_MS }));
  return (
    <>
      <h2>Addresses in the last 30 days</h2>
      <Loaded query={query} what="addresses">
        {({ addresses }) =>
          addresses.length === 0 ? (
            <p className={textStyles.quiet}>No requests in the last 30 days.</p>
          ) : (
            <AddressTable id={id} addresses={addresses} />
          )
        }
      </Loaded>
    </>
  );
}

function AddressTable({ id, addresses }: { readonly id: string; readonly addresses: readonly Address[] }) {
  const { shown, footer } = useFolded(addresses);
  const columns: readonly Column<Address>[] = [
    {
      label: "Address",
      kind: "name",
      cell: ({ ip }) => (
        <Link to="/audit" search={{ key: id, source: ip }}>
          {ip}
        </Link>
      ),
    },
    { label: "Last used", kind: "time", cell: ({ lastUsedAt }) => formatDateTime(lastUsedAt) },
  ];
  return (
    <>
      <DataTable
        caption="Addresses of the last 30 days"
        columns={columns}
        rows={shown}
        rowKey={({ ip }) => ip}
        footer={footer}
      />
      {addresses.length < MAX_ADDRESSES ? null : (
        <p className={textStyles.small}>The latest {formatCount(MAX_ADDRESSES)} addresses.</p>
      )}
    </>
  );
}
