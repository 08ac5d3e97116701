-- Creates the role and the database of Assent. PostgreSQL's image runs it at the first start, with an empty volume.
-- The role owns its database and has no other right.
\set password `cat /run/secrets/database_password`
CREATE ROLE assent LOGIN PASSWORD :'password';
CREATE DATABASE assent OWNER assent;
REVOKE ALL ON DATABASE assent FROM PUBLIC;
