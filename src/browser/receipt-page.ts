import "../receipt/verify.ts";
