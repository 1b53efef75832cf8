-- Employees: keys of text, a key of a date, departments and employees that refer to each other, one of them deferred.
CREATE SCHEMA hr;
CREATE TABLE hr.region (region_id int PRIMARY KEY, region_name varchar(25));
CREATE TABLE hr.country (country_id char(2) PRIMARY KEY, country_name text, region_id int REFERENCES hr.region ON DELETE CASCADE);
CREATE TABLE hr.location (location_id int PRIMARY KEY, street text, country_id char(2) REFERENCES hr.country ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TABLE hr.department (department_id int PRIMARY KEY, department_name text NOT NULL, manager_id int,
    location_id int REFERENCES hr.location ON DELETE SET NULL);
CREATE TABLE hr.job (job_id text PRIMARY KEY, job_title text NOT NULL, salary int4range);
CREATE TABLE hr.employee (employee_id int PRIMARY KEY, last_name text NOT NULL, email text NOT NULL UNIQUE, hired date NOT NULL,
    job_id text NOT NULL REFERENCES hr.job ON UPDATE CASCADE, salary numeric(8, 2), manager_id int REFERENCES hr.employee,
    department_id int REFERENCES hr.department);
ALTER TABLE hr.department ADD FOREIGN KEY (manager_id) REFERENCES hr.employee DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE hr.job_history (employee_id int REFERENCES hr.employee ON DELETE CASCADE, since date, until date CHECK (until > since),
    job_id text REFERENCES hr.job ON UPDATE CASCADE, department_id int REFERENCES hr.department ON DELETE SET NULL, PRIMARY KEY (employee_id, since));
INSERT INTO hr.region VALUES (1, 'Europe'), (2, 'Asia');
INSERT INTO hr.country VALUES ('UK', 'United Kingdom', 1), ('JP', 'Japan', 2), ('DE', 'Germany', 1);
INSERT INTO hr.location SELECT g, 'street ' || g, (ARRAY['UK', 'JP', 'DE'])[1 + g % 3] FROM generate_series(1, 5) AS g;
INSERT INTO hr.department SELECT g, 'd' || g, NULL, g FROM generate_series(1, 5) AS g;
INSERT INTO hr.job VALUES ('AD_PRES', 'President', '[20000,40000)'), ('IT_PROG', 'Programmer', '[4000,10000)');
INSERT INTO hr.employee SELECT g, 'e' || g, g || '@example.org', '2020-01-01', CASE g WHEN 1 THEN 'AD_PRES' ELSE 'IT_PROG' END, 5000 + g, nullif(g / 3, 0), 1 + g % 5
FROM generate_series(1, 9) AS g;
UPDATE hr.department SET manager_id = department_id;
INSERT INTO hr.job_history SELECT g, date '2020-01-01' + g, '2021-01-01', 'IT_PROG', 1 + g % 5 FROM generate_series(1, 6) AS g;
