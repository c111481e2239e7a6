import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The service that the pages speak to during development. */
const SERVICE = process.env.OSTIARY_DEV_SERVICE ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  build: {
    // A data: URL would need an exception in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
  },
  server: { proxy: { "/trpc": SERVICE, "/v1": SERVICE, "/dashboard": SERVICE } },
});
