import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { ServiceName } from "./components/service-name.ts";
import { followTheme } from "./components/theme.ts";
import { SignIn } from "./pages/SignIn.tsx";
import { SignUp } from "./pages/SignUp.tsx";
import { readServiceInfo, type ServiceInfo } from "./sign-in/call.ts";
import "./styles/main.css";

/** The pages for users who are not signed in: a document of their own, without the dashboard's script. */
function SignInPages() {
  const [info, setInfo] = useState<ServiceInfo>();
  useEffect(() => {
    void readServiceInfo().then(setInfo);
  }, []);
  const Page = location.pathname === "/sign-up" ? SignUp : SignIn;
  return (
    <ServiceName value={info?.serviceName}>
      <Page signUp={info?.signUp} />
    </ServiceName>
  );
}

followTheme();
// Steps of the history that the dashboard has made belong to the dashboard.
addEventListener("popstate", () => location.reload());

const place = document.getElementById("root");
if (place === null) throw new Error("the page has no root element");
createRoot(place).render(
  <StrictMode>
    <SignInPages />
  </StrictMode>,
);
