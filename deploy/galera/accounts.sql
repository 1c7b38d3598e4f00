-- The account of HAProxy's checks, without a password and without rights. The cluster's own network alone reaches the nodes.
CREATE USER haproxy@'%';
