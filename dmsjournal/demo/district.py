"""A made-up school district in the form of the Ed-Fi sample, for demos, tests and benchmarks without the sample.

One document a JSON line, each after every document it references: `python -m dmsjournal.demo.district --students 960`.
"""

import argparse
import json
import random
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

Document = dict[str, object]

_DESCRIPTOR = "uri://ed-fi.org/{}Descriptor#{}"
_UUID_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://www.ed-fi.org/")
_YEAR = "2025-2026"
_FIRST_DAY = date(2025, 8, 25)

_DESCRIPTORS = {
    "AcademicSubject": "English Language Arts|Mathematics|Science|Social Studies|Fine Arts|Foreign Language|Other",
    "AddressType": "Home|Mailing|Physical|Work",
    "AdministrationEnvironment": "Classroom|School|Testing Center",
    "AssessmentCategory": "Benchmark test|College entrance exam|Diagnostic|Formative|State summative assessment",
    "AssessmentReportingMethod": "Composite Score|Percentile|Proficiency level|Raw score|Scale score",
    "AssignmentLateStatus": "Late|Not Late",
    "AttendanceEventCategory": "Early departure|Excused Absence|In Attendance|Tardy|Unexcused Absence",
    "CalendarType": "Grade Level|School|Student Specific",
    "ClassroomPosition": "Assistant Teacher|Substitute Teacher|Support Teacher|Teacher of Record",
    "CourseDefinedBy": "LEA|National Organization|SEA|School",
    "CourseIdentificationSystem": "LEA course code|School course code|State course code",
    "CourseLevelCharacteristic": "Advanced|Basic|Core Subject|Dual Credit|General|Honors|Remedial",
    "EducationalEnvironment": "Classroom|Homebound|Laboratory|Resource Room|Virtual",
    "EducationOrganizationCategory": "Education Service Center|Local Education Agency|School|State Education Agency",
    "EducationOrganizationIdentificationSystem": "Federal|LEA|NCES|SEA|School",
    "ElectronicMailType": "Home/Personal|Organization|Other|Work",
    "EntryType": "Next year school|Re-entry|Transfer from the same district|Transfer from another state",
    "GradeLevel": "Kindergarten|First grade|Second grade|Third grade|Fourth grade|Fifth grade|Sixth grade"
    "|Seventh grade|Eighth grade|Ninth grade|Tenth grade|Eleventh grade|Twelfth grade",
    "GradingPeriod": "First Six Weeks|Second Six Weeks|Third Six Weeks|Fourth Six Weeks|Fifth Six Weeks|Sixth Six Weeks",
    "GraduationPlanType": "Career and Technical Education|Distinguished|Minimum|Recommended|Standard",
    "IdentificationDocumentUse": "Foreign|Other|Personal Information Verification",
    "InstitutionTelephoneNumberType": "Administrative|Attendance|Fax|Main|Other",
    "Language": "ara|ben|ces|dan|deu|eng|fas|fra|guj|hat|heb|hin|hmn|hun|ita|jpn|khm|kor"
    "|lao|nav|nld|pol|por|pus|ron|rus|som|spa|swa|swe|tgl|tha|tur|ukr|urd|vie|yor|zho",
    "LearningStandardCategory": "Early learning|State Standard|Technical",
    "LearningStandardScope": "District|Local|Multistate|National|School|State",
    "LevelOfEducation": "Associate's Degree|Bachelor's|Doctorate|High School Diploma|Master's|Some College No Degree",
    "LimitedEnglishProficiency": "Limited|Limited Monitored 1|Limited Monitored 2|Not Limited",
    "LocalEducationAgencyCategory": "Charter|Independent|Regional|Specialized",
    "OperationalStatus": "Active|Closed|Inactive|New",
    "PerformanceLevel": "Above Benchmark|Advanced|Basic|Below Basic|Met Standard|Not Met|Proficient",
    "PersonalInformationVerification": "Birth certificate|Driver's license|Hospital certificate|Immigration document"
    "|Other official document|Parents affidavit|Passport|Previously verified school records",
    "PlatformType": "Computer-based|Paper-based",
    "ProgramSponsor": "Business|Federal Government|Local Education Agency|School|State Education Agency",
    "ProgramType": "Bilingual|Career and Technical Education|Early Learning|Gifted and Talented|Migrant Education"
    "|Regular Education|Special Education|Title I Part A|Vocational Education",
    "Race": "American Indian - Alaska Native|Asian|Black - African American|Choose Not to Respond"
    "|Native Hawaiian - Pacific Islander|White",
    "Relation": "Aunt|Brother|Father|Foster parent|Grandfather|Grandmother|Guardian|Mother|Other|Sister|Stepfather"
    "|Stepmother|Uncle",
    "ResultDatatypeType": "Decimal|Integer|Level|Percentage|Percentile|Range",
    "SchoolCategory": "Elementary School|High School|Middle School",
    "SchoolType": "Alternative|Career and Technical Education|Regular|Special Education",
    "SectionType": "Attendance and Credit|Attendance only|Credit only",
    "Sex": "Female|Male|Non-binary|Not Selected",
    "StaffIdentificationSystem": "District|Federal|Health Record|Local|Professional Certificate|State",
    "StateAbbreviation": "AK|AL|AR|AZ|CA|CO|CT|DC|DE|FL|GA|HI|IA|ID|IL|IN|KS|KY|LA|MA|MD|ME|MI|MN|MO|MS|MT|NC|ND|NE|NH"
    "|NJ|NM|NV|NY|OH|OK|OR|PA|RI|SC|SD|TN|TX|UT|VA|VT|WA|WI|WV|WY",
    "StudentCharacteristic": "Displaced|Economic Disadvantaged|Foster Care|Homeless|Immigrant|Migratory|Single Parent",
    "SubmissionStatus": "Graded|Late|Non-Submission|Submitted",
    "TelephoneNumberType": "Emergency 1|Fax|Home|Mobile|Other|Work",
    "Term": "Fall Semester|Full Year|Spring Semester|Summer Semester",
}

_IDENTITY_REFERENCES = {  # properties of a body whose references are part of the document's identity
    "AssessmentItem": {"assessmentReference"},
    "Calendar": {"schoolReference"},
    "ClassPeriod": {"schoolReference"},
    "Course": {"educationOrganizationReference"},
    "CourseOffering": {"schoolReference", "sessionReference"},
    "GradingPeriod": {"schoolReference", "gradingPeriod"},
    "GraduationPlan": {"educationOrganizationReference", "graduationPlanType"},
    "Location": {"schoolReference"},
    "ObjectiveAssessment": {"assessmentReference"},
    "Program": {"educationOrganizationReference", "programType"},
    "Section": {"courseOfferingReference"},
    "Session": {"schoolReference"},
    "StaffSectionAssociation": {"staffReference", "sectionReference"},
    "StudentAssessment": {"studentReference", "assessmentReference"},
    "StudentContactAssociation": {"studentReference", "contactReference"},
    "StudentEducationOrganizationAssociation": {"studentReference", "educationOrganizationReference"},
    "StudentGradebookEntry": {"studentReference", "gradebookEntryReference"},
    "StudentProgramAssociation": {"studentReference", "programReference", "educationOrganizationReference"},
    "StudentSchoolAssociation": {"studentReference", "schoolReference"},
    "StudentSchoolAttendanceEvent": {
        "studentReference",
        "schoolReference",
        "sessionReference",
        "attendanceEventCategory",
    },
    "StudentSectionAssociation": {"studentReference", "sectionReference"},
    "StudentSectionAttendanceEvent": {"studentReference", "sectionReference", "attendanceEventCategory"},
}

_FIRST_NAMES = (
    "Ariv",
    "Belan",
    "Corin",
    "Delma",
    "Evren",
    "Fenna",
    "Hesper",
    "Ilun",
    "Jorin",
    "Kesta",
    "Mirel",
    "Orla",
)
_LAST_NAMES = ("Alderwick", "Brookmere", "Cindervale", "Dunmarsh", "Elderfen", "Fallowby", "Greyholt", "Ivorton")
_COURSES = ("English Language Arts", "Mathematics", "Science", "Social Studies", "Fine Arts", "Foreign Language")
_ASSESSED = ("English Language Arts", "Mathematics", "Science", "Social Studies")
_SCHOOL_GRADES = {"Elementary School": (0, 6), "Middle School": (6, 9), "High School": (9, 13)}
_PROGRAMS = ("Bilingual", "Gifted and Talented", "Special Education", "Career and Technical Education")
_TERMS = (("Fall Semester", _FIRST_DAY), ("Spring Semester", date(2026, 1, 6)))
_LEVELS = 2  # offerings of a subject in a school
_PARALLEL = 3  # sections of an offering
_STUDENTS_PER_SCHOOL = 320
_STANDARDS_PER_STUDENT, _MOST_STANDARDS = 5, 4800  # a state has one set of standards, however large the district


class _Reference(dict[str, object]):
    """A reference as a body holds it, together with the document it names."""

    def __init__(self, resource: str, identity: Mapping[str, object], body: Mapping[str, object] | None = None) -> None:
        super().__init__(identity if body is None else body)
        self.resource, self.identity = resource, dict(identity)


def generate(students: int = 960, *, seed: int = 1) -> Iterator[Document]:
    """The documents of a district, each after every document it references.

    Units: `students` is documents of Student, 1 or more; about 20 documents come for each. The same arguments give
    the same documents. Memory does not grow with `students`. Raises ValueError. Form: the fields of the Ed-Fi sample.
    """
    if students < 1:
        raise ValueError(f"students is {students}: ask for 1 or more")
    return _District(students, random.Random(seed)).documents()


class _District:
    """What the documents are computed from: nothing is kept of a document that was yielded."""

    def __init__(self, students: int, rng: random.Random) -> None:
        self.students, self.rng = students, rng
        self.schools = max(1, round(students / _STUDENTS_PER_SCHOOL))
        self.standards = min(students * _STANDARDS_PER_STUDENT, _MOST_STANDARDS)

    def documents(self) -> Iterator[Document]:
        """Resource by resource, and a resource only after those it refers to."""
        yield from _descriptors()
        yield from self.learning_standards()
        yield from self.organizations()
        yield from self.assessments()
        yield from self.calendars()
        yield from self.courses()
        yield from self.sections()
        yield from self.people()
        yield from self.families()
        yield from self.enrollments()
        yield from self.attendance()
        yield from self.achievements()

    def learning_standards(self) -> Iterator[Document]:
        for n in range(self.standards):
            grade = _grade(n % 13)
            subject = _ASSESSED[n // 13 % len(_ASSESSED)]
            yield _document(
                _learning_standard(n),
                **_learning_standard(n),
                description=f"{subject}, {grade}: objective {n}",
                contentStandard={"title": "State Standard"},
                gradeLevel=[_uri("GradeLevel", grade)],
                academicSubject=[_uri("AcademicSubject", subject)],
                courseTitle=f"{subject}, {grade}, {_YEAR}",
                namespace="uri://ed-fi.org/LearningStandard/LearningStandard.xml",
                learningStandardScope=_uri("LearningStandardScope", "State"),
            )

    def organizations(self) -> Iterator[Document]:
        yield _document(
            _SERVICE_CENTER,
            **_institution(9001, "Region 1 Service Center", "Education Service Center"),
            **_SERVICE_CENTER,
        )
        yield _document(
            _AGENCY,
            **_institution(1, "Fairmeadow School District", "Local Education Agency"),
            **_AGENCY.identity,
            localEducationAgencyCategory=_uri("LocalEducationAgencyCategory", "Independent"),
            educationServiceCenterReference=_SERVICE_CENTER,
        )
        for s in range(self.schools):
            category, grades = _school_kind(s)
            yield _document(
                _school(s),
                **_institution(_school_id(s), f"Fairmeadow {category} {s + 1}", "School"),
                operationalStatus=_uri("OperationalStatus", "Active"),
                **_school(s),
                gradeLevel=[_uri("GradeLevel", _grade(g)) for g in grades],
                schoolCategory=[_uri("SchoolCategory", category)],
                schoolType=_uri("SchoolType", "Regular"),
                localEducationAgencyReference=_AGENCY,
            )
        for name in _PROGRAMS:
            yield _document(
                _program(name),
                educationOrganizationReference=_as_organization(_AGENCY),
                programName=name,
                programType=_uri("ProgramType", name),
                programSponsor=[_uri("ProgramSponsor", "Local Education Agency")],
            )
        for s in range(self.schools):
            for plan in ("Recommended", "Distinguished"):
                yield _document(
                    _graduation_plan(s, plan),
                    educationOrganizationReference=_as_organization(_school(s)),
                    graduationPlanType=_uri("GraduationPlanType", plan),
                    graduationSchoolYear=_YEAR,
                    totalRequiredCredits={"credits": 26},
                )

    def assessments(self) -> Iterator[Document]:
        for grade in range(13):
            for subject in _ASSESSED:
                yield _document(
                    _assessment(grade, subject),
                    **_assessment(grade, subject),
                    assessmentTitle=f"State {subject}, {_grade(grade)}",
                    assessmentCategory=_uri("AssessmentCategory", "State summative assessment"),
                    academicSubject=[_uri("AcademicSubject", subject)],
                    assessedGradeLevel=[_uri("GradeLevel", _grade(grade))],
                    assessmentScore=[_score("minimumScore", method, 0) for method in ("Raw score", "Scale score")],
                    assessmentPerformanceLevel=[
                        {"performanceLevel": _uri("PerformanceLevel", level)} for level in ("Met Standard", "Not Met")
                    ],
                    platformType=[_uri("PlatformType", "Computer-based"), _uri("PlatformType", "Paper-based")],
                )
        for grade in range(13):
            for subject in _ASSESSED:
                for objective in range(_objectives(subject)):
                    yield _document(
                        _objective(grade, subject, objective),
                        **_objective(grade, subject, objective),
                        maxRawScore=10,
                        assessmentReference=_assessment(grade, subject),
                        academicSubject=_uri("AcademicSubject", subject),
                        assessmentScore=[_score("minimumScore", "Raw score", 0)],
                        learningStandardReference=[_learning_standard(self.rng.randrange(self.standards))],
                    )

    def calendars(self) -> Iterator[Document]:
        for s in range(self.schools):
            yield _document(
                _calendar(s),
                calendarCode=str(_school_id(s)),
                calendarType=_uri("CalendarType", "School"),
                schoolReference=_school(s),
                schoolYear=_YEAR,
            )
        for s in range(self.schools):
            for period in range(len(_COURSES)):
                yield _document(
                    _class_period(s, period),
                    schoolReference=_school(s),
                    classPeriodName=_class_period(s, period)["classPeriodName"],
                    meetingTime=[{"startTime": f"{8 + period:02}:30:00", "endTime": f"{9 + period:02}:20:00"}],
                )
        for s in range(self.schools):
            for room in range(_staff_of_a_school()):
                yield _document(
                    _location(s, room),
                    schoolReference=_school(s),
                    classroomIdentificationCode=_location(s, room)["classroomIdentificationCode"],
                    maximumNumberOfSeats=self.rng.randint(20, 32),
                )
        for s in range(self.schools):
            for term in range(len(_TERMS)):
                for grading_period in _grading_periods(s, term):
                    yield _document(
                        grading_period,
                        schoolReference=_school(s),
                        **{name: value for name, value in grading_period.items() if name != "schoolId"},
                        beginDate=_TERMS[term][1].isoformat(),
                        totalInstructionalDays=29,
                    )
        for s in range(self.schools):
            for term, (name, begin) in enumerate(_TERMS):
                yield _document(
                    _session(s, term),
                    sessionName=_session(s, term)["sessionName"],
                    schoolYear=_YEAR,
                    beginDate=begin.isoformat(),
                    endDate=(begin + timedelta(days=120)).isoformat(),
                    term=_uri("Term", name),
                    totalInstructionalDays=87,
                    schoolReference=_school(s),
                    gradingPeriodReference=_grading_periods(s, term),
                )

    def courses(self) -> Iterator[Document]:
        for s in range(self.schools):
            for c in range(len(_COURSES) * _LEVELS):
                code = _course(s, c)["courseCode"]
                yield _document(
                    _course(s, c),
                    courseCode=code,
                    courseTitle=f"{_subject(c)} {c // len(_COURSES) + 1}",
                    numberOfParts=1,
                    courseIdentificationCode=[
                        {
                            "identificationCode": code,
                            "courseIdentificationSystem": _uri("CourseIdentificationSystem", system),
                        }
                        for system in ("LEA course code", "State course code")
                    ],
                    courseLevelCharacteristic=[_uri("CourseLevelCharacteristic", "Core Subject")],
                    academicSubject=[_uri("AcademicSubject", _subject(c))],
                    courseDefinedBy=_uri("CourseDefinedBy", "SEA"),
                    educationOrganizationReference=_as_organization(_school(s)),
                    learningStandardReference=[_learning_standard(self.rng.randrange(self.standards))],
                )
        for s in range(self.schools):
            for c in range(len(_COURSES) * _LEVELS):
                for term in range(len(_TERMS)):
                    yield _document(
                        _offering(s, c, term),
                        localCourseCode=_offering(s, c, term)["localCourseCode"],
                        schoolReference=_school(s),
                        sessionReference=_session(s, term),
                        courseReference=_course(s, c),
                    )

    def sections(self) -> Iterator[Document]:
        for s, c, term, parallel in self.every_section():
            yield _document(
                _section(s, c, term, parallel),
                sectionIdentifier=_section(s, c, term, parallel)["sectionIdentifier"],
                sectionType=_uri("SectionType", "Attendance and Credit"),
                educationalEnvironment=_uri("EducationalEnvironment", "Classroom"),
                availableCredits={"credits": 1},
                courseOfferingReference=_offering(s, c, term),
                locationSchoolReference=_school(s),
                locationReference=_location(s, _teacher(c, parallel)),
                classPeriodReference=[_class_period(s, c % len(_COURSES))],
                sectionName=f"{_subject(c)}, group {parallel + 1}",
            )
        for s, c, term, parallel in self.every_section():
            yield _document(
                _gradebook_entry(s, c, term, parallel),
                **_gradebook_entry(s, c, term, parallel),
                sectionReference=_section(s, c, term, parallel),
                dateAssigned=(_TERMS[term][1] + timedelta(days=7)).isoformat(),
                title="Assignment 1",
            )

    def people(self) -> Iterator[Document]:
        for s in range(self.schools):
            for t in range(_staff_of_a_school()):
                staff = _staff(s, t)
                number = staff["staffUniqueId"]
                yield _document(
                    staff,
                    **staff,
                    staffIdentificationCode=[
                        {
                            "identificationCode": number,
                            "staffIdentificationSystem": _uri("StaffIdentificationSystem", "State"),
                        }
                    ],
                    name=self.name(verified=True),
                    sex=self.any_of("Sex"),
                    electronicMail=[_mail(number, "Work")],
                    race=[self.any_of("Race")],
                    highestCompletedLevelOfEducation=self.any_of("LevelOfEducation"),
                )
        for s, c, term, parallel in self.every_section():
            begin = _TERMS[term][1].isoformat()
            teacher, section = _staff(s, _teacher(c, parallel)), _section(s, c, term, parallel)
            yield _document(
                _Reference("StaffSectionAssociation", {**teacher, **section, "beginDate": begin}),
                staffReference=teacher,
                sectionReference=section,
                classroomPosition=_uri("ClassroomPosition", "Teacher of Record"),
                beginDate=begin,
            )
        for n in range(self.students):
            yield _document(
                _student(n),
                **_student(n),
                name=self.name(),
                birthData={"birthDate": f"{2025 - 5 - self.grade_of(n)}-{self.rng.randint(1, 12):02}-15"},
            )

    def families(self) -> Iterator[Document]:
        for n in range(2 * self.students):
            contact = _contact(n)
            mail = {"electronicMail": [_mail(contact["contactUniqueId"], "Home/Personal")]} if n % 4 == 0 else {}
            telephone = {"telephoneNumber": f"555-{n:07}", "telephoneNumberType": self.any_of("TelephoneNumberType")}
            yield _document(
                contact,
                **contact,
                name=self.name(verified=True),
                sex=self.any_of("Sex"),
                address=[_address(self.rng.randint(1, 999), "Home")],
                telephone=[telephone],
                **mail,
            )
        for n in range(2 * self.students):
            student, contact = _student(n // 2), _contact(n)
            yield _document(
                _Reference("StudentContactAssociation", {**student, **contact}),
                studentReference=student,
                contactReference=contact,
                relation=self.any_of("Relation"),
                primaryContactStatus=n % 2 == 0,
            )

    def enrollments(self) -> Iterator[Document]:
        entry = _FIRST_DAY.isoformat()
        for n in range(self.students):
            student, s = _student(n), self.school_of(n)
            plan: dict[str, object] = {}
            if _school_kind(s)[0] == "High School":
                plan["graduationPlanReference"] = _graduation_plan(s, self.rng.choice(("Recommended", "Distinguished")))
            yield _document(
                _Reference("StudentSchoolAssociation", {**student, **_school(s), "entryDate": entry}),
                studentReference=student,
                schoolReference=_school(s),
                entryDate=entry,
                entryType=self.any_of("EntryType"),
                entryGradeLevel=_uri("GradeLevel", _grade(self.grade_of(n))),
                **plan,
                calendarReference=_calendar(s),
                schoolYear=_YEAR,
            )
        for n in range(self.students):
            student = _student(n)
            identity = {**student, **_as_organization(_AGENCY)}
            yield _document(
                _Reference("StudentEducationOrganizationAssociation", identity),
                studentReference=student,
                educationOrganizationReference=_as_organization(_AGENCY),
                sex=self.any_of("Sex"),
                race=[self.any_of("Race")],
                limitedEnglishProficiency=self.any_of("LimitedEnglishProficiency"),
                language=[{"language": self.any_of("Language")}],
                studentCharacteristic=[{"studentCharacteristic": self.any_of("StudentCharacteristic")}],
                address=[_address(self.rng.randint(1, 999), "Home")],
            )
        for n in range(0, self.students, 3):
            student, program = _student(n), _program(self.rng.choice(_PROGRAMS))
            identity = {
                **student,
                "programEducationOrganizationId": program["educationOrganizationId"],
                **{name: program[name] for name in ("programName", "programType")},
                "beginDate": entry,
                **_as_organization(_AGENCY),
            }
            yield _document(
                _Reference("StudentProgramAssociation", identity),
                studentReference=student,
                programReference=program,
                beginDate=entry,
                educationOrganizationReference=_as_organization(_AGENCY),
            )
        for n in range(self.students):
            for section, term in self.sections_of(n):
                student, begin = _student(n), _TERMS[term][1].isoformat()
                yield _document(
                    _Reference("StudentSectionAssociation", {**student, **section, "beginDate": begin}),
                    studentReference=student,
                    sectionReference=section,
                    beginDate=begin,
                    homeroomIndicator=False,
                )

    def attendance(self) -> Iterator[Document]:
        for n in range(self.students):
            student, s = _student(n), self.school_of(n)
            for term, (_, begin) in enumerate(_TERMS):  # one a term: no day twice
                event = {
                    "eventDate": (begin + timedelta(days=self.rng.randrange(100))).isoformat(),
                    "attendanceEventCategory": _uri("AttendanceEventCategory", self.rng.choice(_ABSENCES)),
                }
                identity = {**student, **_session(s, term), **event}
                yield _document(
                    _Reference("StudentSchoolAttendanceEvent", identity),
                    attendanceEvent=event,
                    studentReference=student,
                    schoolReference=_school(s),
                    sessionReference=_session(s, term),
                )
        for n in range(0, self.students, 8):
            section, term = self.sections_of(n)[0]
            event = {
                "eventDate": (_TERMS[term][1] + timedelta(days=self.rng.randrange(100))).isoformat(),
                "attendanceEventCategory": _uri("AttendanceEventCategory", "Tardy"),
            }
            yield _document(
                _Reference("StudentSectionAttendanceEvent", {**_student(n), **section, **event}),
                attendanceEvent={**event, "educationalEnvironment": _uri("EducationalEnvironment", "Classroom")},
                studentReference=_student(n),
                sectionReference=section,
            )

    def achievements(self) -> Iterator[Document]:
        for n in range(self.students):
            s, c, term, parallel = self.section_numbers(n)[0]
            entry = _gradebook_entry(s, c, term, parallel)
            yield _document(
                _Reference("StudentGradebookEntry", {**entry, **_student(n)}),
                gradebookEntryReference=entry,
                studentReference=_student(n),
                numericGradeEarned=self.rng.randint(40, 100),
                submissionStatus=_uri("SubmissionStatus", "Graded"),
                assignmentLateStatus=self.any_of("AssignmentLateStatus"),
            )
        for n in range(self.students):
            grade, subject = self.grade_of(n), self.rng.choice(_ASSESSED)
            assessment, number = _assessment(grade, subject), f"{_YEAR}-{n + 1:07}"
            yield _document(
                _Reference("StudentAssessment", {"studentAssessmentIdentifier": number, **_student(n), **assessment}),
                studentAssessmentIdentifier=number,
                administrationDate="2026-04-14T09:00:00",
                administrationLanguage=_uri("Language", "eng"),
                administrationEnvironment=self.any_of("AdministrationEnvironment"),
                scoreResult=[_score("result", "Scale score", self.rng.randint(1200, 1800))],
                whenAssessedGradeLevel=_uri("GradeLevel", _grade(grade)),
                performanceLevel=[{"performanceLevel": _uri("PerformanceLevel", "Met Standard")}],
                studentObjectiveAssessment=[
                    {
                        "scoreResult": [_score("result", "Raw score", self.rng.randint(0, 10))],
                        "objectiveAssessmentReference": _objective(grade, subject, objective),
                    }
                    for objective in range(_objectives(subject))
                ],
                studentReference=_student(n),
                assessmentReference=assessment,
                schoolYear=_YEAR,
                platformType=self.any_of("PlatformType"),
            )

    def school_of(self, n: int) -> int:
        return n % self.schools

    def grade_of(self, n: int) -> int:
        grades = _school_kind(self.school_of(n))[1]
        return grades[n // self.schools % len(grades)]

    def every_section(self) -> Iterator[tuple[int, int, int, int]]:
        for s in range(self.schools):
            for c in range(len(_COURSES) * _LEVELS):
                for term in range(len(_TERMS)):
                    for parallel in range(_PARALLEL):
                        yield s, c, term, parallel

    def section_numbers(self, n: int) -> list[tuple[int, int, int, int]]:
        courses = len(_COURSES) * _LEVELS
        return [(self.school_of(n), (n + k) % courses, k % len(_TERMS), n % _PARALLEL) for k in range(4)]

    def sections_of(self, n: int) -> list[tuple[_Reference, int]]:
        return [(_section(s, c, term, parallel), term) for s, c, term, parallel in self.section_numbers(n)]

    def any_of(self, descriptor: str) -> str:
        return _uri(descriptor, self.rng.choice(_VALUES[descriptor]))

    def name(self, *, verified: bool = False) -> dict[str, object]:
        name: dict[str, object] = {
            "firstName": self.rng.choice(_FIRST_NAMES),
            "lastSurname": self.rng.choice(_LAST_NAMES),
        }
        if verified:
            name["personalIdentificationDocument"] = [
                {
                    "personalInformationVerification": self.any_of("PersonalInformationVerification"),
                    "identificationDocumentUse": _uri("IdentificationDocumentUse", "Personal Information Verification"),
                }
            ]
        return name


_VALUES = {name: values.split("|") for name, values in _DESCRIPTORS.items()}
_ABSENCES = ("Excused Absence", "Excused Absence", "Unexcused Absence")
_SERVICE_CENTER = _Reference("EducationServiceCenter", {"educationServiceCenterId": 9001})
_AGENCY = _Reference("LocalEducationAgency", {"localEducationAgencyId": 1})


def _descriptors() -> Iterator[Document]:
    for name, values in _VALUES.items():
        for value in values:
            yield _document(
                _Reference(f"{name}Descriptor", {"uri": _uri(name, value)}),
                codeValue=value,
                shortDescription=value,
                description=value,
                namespace=f"uri://ed-fi.org/{name}Descriptor",
            )


def _document(own: _Reference, **body: object) -> Document:
    """One line: its references are read from the body, so the two cannot disagree."""
    identity_references = _IDENTITY_REFERENCES.get(own.resource, set())
    references: dict[tuple[str, str], dict[str, object]] = {}
    for name, target, target_identity in _named(body):
        reference = references.setdefault(
            (target, _canonical(target_identity)),
            {"resourceName": target, "identity": target_identity, "identityComponent": False},
        )
        if name in identity_references:  # one way that is part of the identity is enough
            reference["identityComponent"] = True
    return {
        "projectName": "Ed-Fi",
        "resourceName": own.resource,
        "resourceVersion": "5.2.0",
        "documentUuid": str(uuid.uuid5(_UUID_NAMESPACE, f"{own.resource}|{_canonical(own.identity)}")),
        "identity": own.identity,
        "body": body,
        "references": list(references.values()),
    }


def _named(value: object, name: str = "") -> Iterator[tuple[str, str, dict[str, object]]]:
    """Every reference at any depth, as (property, resource, identity)."""
    if isinstance(value, _Reference):
        yield name, value.resource, value.identity
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _named(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _named(item, name)
    elif isinstance(value, str) and value.startswith("uri://") and "Descriptor#" in value:
        yield name, value.split("#")[0].rsplit("/", 1)[1], {"uri": value}


def _canonical(identity: Mapping[str, object]) -> str:
    return json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _uri(descriptor: str, value: str) -> str:
    return _DESCRIPTOR.format(descriptor, value)


def _grade(number: int) -> str:
    return _VALUES["GradeLevel"][number]


def _institution(number: int, name: str, category: str) -> dict[str, object]:
    system = _uri("EducationOrganizationIdentificationSystem", "SEA")
    kind = _uri("InstitutionTelephoneNumberType", "Main")
    return {
        "educationOrganizationIdentificationCode": [
            {"identificationCode": str(number), "educationOrganizationIdentificationSystem": system}
        ],
        "nameOfInstitution": name,
        "educationOrganizationCategory": [_uri("EducationOrganizationCategory", category)],
        "address": [_address(number, "Physical"), _address(number, "Mailing")],
        "institutionTelephone": [{"telephoneNumber": f"555-{number:07}", "institutionTelephoneNumberType": kind}],
    }


def _address(number: int, kind: str) -> dict[str, object]:
    return {
        "streetNumberName": f"{number} Meadow Street",
        "city": "Fairmeadow",
        "stateAbbreviation": _uri("StateAbbreviation", "TX"),
        "postalCode": "00000",
        "addressType": _uri("AddressType", kind),
    }


def _mail(number: object, kind: str) -> dict[str, object]:
    return {
        "electronicMailAddress": f"{number}@fairmeadow.example",
        "electronicMailType": _uri("ElectronicMailType", kind),
    }


def _score(name: str, method: str, value: int) -> dict[str, object]:
    return {
        name: str(value),
        "assessmentReportingMethod": _uri("AssessmentReportingMethod", method),
        "resultDatatypeType": _uri("ResultDatatypeType", "Integer"),
    }


def _school_id(s: int) -> int:
    return 1_000_001 + s


def _school_kind(s: int) -> tuple[str, Sequence[int]]:
    category = list(_SCHOOL_GRADES)[s % len(_SCHOOL_GRADES)]
    return category, range(*_SCHOOL_GRADES[category])


def _subject(c: int) -> str:
    return _COURSES[c % len(_COURSES)]


def _teacher(c: int, parallel: int) -> int:
    return c * _PARALLEL // 2 + parallel // 2


def _staff_of_a_school() -> int:
    return _teacher(len(_COURSES) * _LEVELS - 1, _PARALLEL - 1) + 1


def _objectives(subject: str) -> int:
    return 4 + 6 * _ASSESSED.index(subject)  # 4 to 22: a few documents with very many references, as in the sample


def _as_organization(organization: _Reference) -> _Reference:
    """A reference to an education organization of any kind holds educationOrganizationId (the sample's README)."""
    (number,) = organization.identity.values()
    return _Reference(organization.resource, organization.identity, {"educationOrganizationId": number})


def _school(s: int) -> _Reference:
    return _Reference("School", {"schoolId": _school_id(s)})


def _program(name: str) -> _Reference:
    return _Reference(
        "Program",
        {
            **_as_organization(_AGENCY),
            "programName": name,
            "programType": _uri("ProgramType", name),
        },
    )


def _graduation_plan(s: int, plan: str) -> _Reference:
    return _Reference(
        "GraduationPlan",
        {
            "educationOrganizationId": _school_id(s),
            "graduationPlanType": _uri("GraduationPlanType", plan),
            "graduationSchoolYear": _YEAR,
        },
    )


def _learning_standard(n: int) -> _Reference:
    return _Reference("LearningStandard", {"learningStandardId": f"{100 + n % 13}.{n // 13 % 4 + 1}.{n // 52 + 1}"})


def _assessment(grade: int, subject: str) -> _Reference:
    return _Reference(
        "Assessment",
        {
            "assessmentIdentifier": f"State-{subject}-{_grade(grade)}",
            "namespace": "uri://ed-fi.org/Assessment/Assessment.xml",
        },
    )


def _objective(grade: int, subject: str, number: int) -> _Reference:
    return _Reference(
        "ObjectiveAssessment",
        {
            "identificationCode": f"{subject}-{_grade(grade)}-{number + 1:02}",
            **_assessment(grade, subject),
        },
    )


def _calendar(s: int) -> _Reference:
    return _Reference("Calendar", {"calendarCode": str(_school_id(s)), **_school(s), "schoolYear": _YEAR})


def _class_period(s: int, period: int) -> _Reference:
    return _Reference("ClassPeriod", {**_school(s), "classPeriodName": f"{period + 1:02} - Traditional"})


def _location(s: int, room: int) -> _Reference:
    return _Reference("Location", {**_school(s), "classroomIdentificationCode": str(101 + room)})


def _grading_periods(s: int, term: int) -> list[_Reference]:
    names = _VALUES["GradingPeriod"][3 * term : 3 * term + 3]
    return [
        _Reference(
            "GradingPeriod",
            {
                **_school(s),
                "gradingPeriod": _uri("GradingPeriod", name),
                "gradingPeriodName": f"{_YEAR} {name}",
                "schoolYear": _YEAR,
            },
        )
        for name in names
    ]


def _session(s: int, term: int) -> _Reference:
    return _Reference("Session", {"sessionName": f"{_YEAR} {_TERMS[term][0]}", "schoolYear": _YEAR, **_school(s)})


def _course(s: int, c: int) -> _Reference:
    code = "".join(word[0] for word in _subject(c).split()).upper() + f"-{c + 1:02}"
    return _Reference("Course", {"courseCode": code, "educationOrganizationId": _school_id(s)})


def _offering(s: int, c: int, term: int) -> _Reference:
    session = _session(s, term)
    names = ("schoolId", "sessionName", "schoolYear")
    return _Reference(
        "CourseOffering",
        {
            "localCourseCode": _course(s, c)["courseCode"],
            **{name: session[name] for name in names},
        },
    )


def _section(s: int, c: int, term: int, parallel: int) -> _Reference:
    offering = _offering(s, c, term)
    identifier = f"{_school_id(s)}-{offering['localCourseCode']}-{term + 1}-{parallel + 1}"
    return _Reference("Section", {"sectionIdentifier": identifier, **offering})


def _gradebook_entry(s: int, c: int, term: int, parallel: int) -> _Reference:
    return _Reference(
        "GradebookEntry",
        {
            "gradebookEntryIdentifier": f"{_section(s, c, term, parallel)['sectionIdentifier']}-1",
            "namespace": "uri://ed-fi.org/GradebookEntry/GradebookEntry.xml",
        },
    )


def _staff(s: int, t: int) -> _Reference:
    return _Reference("Staff", {"staffUniqueId": str(200_001 + s * _staff_of_a_school() + t)})


def _student(n: int) -> _Reference:
    return _Reference("Student", {"studentUniqueId": f"S{n + 1:08}"})


def _contact(n: int) -> _Reference:
    return _Reference("Contact", {"contactUniqueId": f"C{n + 1:08}"})


def main() -> None:
    """Write a district to standard output, one document a line."""
    parser = argparse.ArgumentParser(prog="python -m dmsjournal.demo.district", description=main.__doc__)
    parser.add_argument("--students", type=int, default=960, help="students, 1 or more (about 20 documents each)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same documents")
    arguments = parser.parse_args()
    for document in generate(arguments.students, seed=arguments.seed):
        print(json.dumps(document, separators=(",", ":"), ensure_ascii=False))


if __name__ == "__main__":
    main()
