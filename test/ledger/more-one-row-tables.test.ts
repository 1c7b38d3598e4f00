// The tables that test/ledger/one-row-tables.test.ts leaves out.
import { keepsServing, useOneRowTables } from "./one-row.ts";

useOneRowTables();

keepsServing((table) => table >= "log_i");
