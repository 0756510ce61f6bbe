import path from "node:path";
import tailwindcss from "@tailwindcss/vite";
import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";
import { catalogues } from "./build/catalogues.js";
import { hufPage } from "./build/huf-page.js";

const app = path.resolve(import.meta.dirname, "..");
const site = process.env.HUF_URL || "http://127.0.0.1:8000";

export default defineConfig(({ command }) => ({
	base: command === "build" ? "/assets/huf/frontend/" : "/",
	plugins: [vue(), tailwindcss(), catalogues(), hufPage({ output: path.join(app, "www", "huf.html") })],
	define: {
		__VUE_OPTIONS_API__: "false",
		__VUE_PROD_DEVTOOLS__: "false",
		__VUE_I18N_FULL_INSTALL__: "false",
		__VUE_I18N_LEGACY_API__: "false",
		__INTLIFY_PROD_DEVTOOLS__: "false",
		__INTLIFY_DROP_MESSAGE_COMPILER__: "true",
	},
	build: {
		outDir: path.join(app, "public", "frontend"),
		emptyOutDir: true,
		assetsDir: "",
		license: { fileName: "licenses.md" },
		target: "es2022",
		reportCompressedSize: false,
		// All that the first page needs is one file, however many of the later pages share parts of it.
		rolldownOptions: { output: { codeSplitting: { groups: [{ name: "huf", test: /src[\\/]main\.ts$/ }] } } },
	},
	server: {
		proxy: {
			"^/(api|login|files|private|assets)(/|$|\\?)": { target: site, changeOrigin: true },
			"/socket.io": { target: site, changeOrigin: true, ws: true },
			"/__huf_page": { target: site, changeOrigin: true, rewrite: () => "/huf" },
		},
	},
}));
