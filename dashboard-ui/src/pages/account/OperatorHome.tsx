import { Title } from "../../components/Title.tsx";
import { Password } from "./Password.tsx";
import { Sessions } from "./Sessions.tsx";

/** What an operator finds, who has no account of their own. */
export function OperatorHome() {
  return (
    <>
      <div className="page-head">
        <div>
          <Title>Operator</Title>
          <p className="lead">
            You are signed in as an operator of the service, who has no account of their own.
          </p>
        </div>
      </div>
      <section className="panel" aria-labelledby="accounts">
        <h2 id="accounts">Accounts</h2>
        <p>They are administered with the operator's command line:</p>
        <pre className="code">
          <code>npm run --silent operator -- --help</code>
        </pre>
        <p>It needs a management token of yours.</p>
      </section>
      <Password />
      <Sessions />
    </>
  );
}
