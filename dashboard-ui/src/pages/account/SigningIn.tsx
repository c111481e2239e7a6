import { PageHead } from "../../components/PageHead.tsx";
import "./account.css";
import { Password } from "./Password.tsx";
import { Sessions } from "./Sessions.tsx";

/** Settings → Signing in, of an operator, who has no account. */
export function SigningIn() {
  return (
    <>
      <PageHead crumb="Settings" title="Signing in" lead="Your password, and where you are signed in." />
      <div className="account">
        <Password />
        <Sessions />
      </div>
    </>
  );
}
