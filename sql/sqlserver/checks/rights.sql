-- sql/sqlserver/checks/rights.sql: refuses a user that may not create objects in schema dms, which another user owns and the operator trusts
-- (acceptance 57). The owner may always.
IF COALESCE(HAS_PERMS_BY_NAME(N'dms', N'SCHEMA', N'CONTROL'), 0) = 0
    THROW 50006, N'the user may not create objects in schema dms. GRANT CONTROL ON SCHEMA::dms to the user, or install as its owner.', 1;
