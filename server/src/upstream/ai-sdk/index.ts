import { z } from "zod";
import type { OwnSettings } from "../../catalog/catalog-file.ts";
import type { DialectDefinition } from "../dialect.ts";
import { AiSdkDialect } from "./ai-sdk-dialect.ts";
import { AI_SDK_SETTINGS, FEW_LIMITS, loadPackage, packageProblem } from "./provider.ts";

const packageName = z
  .string()
  .regex(/^(?:@[a-z0-9-]+\/)?[a-z0-9-]+$/, "must be the name of a package, such as @ai-sdk/mistral");

/** Any provider package of the AI SDK that is installed beside the server. */
export const aiSdk: DialectDefinition = {
  name: "ai-sdk",
  settings: { package: packageName, ...AI_SDK_SETTINGS },
  problemOf: async (settings) => {
    const problem = await packageProblem(packageOf(settings));
    return problem === null ? null : `package: ${problem}`;
  },
  open: (parts) =>
    new AiSdkDialect(parts, {
      limits: FEW_LIMITS,
      nameOf: ({ settings }) => packageOf(settings),
      load: loadPackage,
    }),
};

function packageOf(settings: OwnSettings): string {
  return packageName.parse(settings.package);
}
