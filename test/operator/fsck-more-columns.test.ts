// The tables that test/operator/fsck-columns.test.ts leaves out.
import { useEveryColumn } from "./every-column.ts";
import { findsWrongBits } from "./wrong-bits.ts";

useEveryColumn();

findsWrongBits((table) => table >= "m");
