/** A person in the format of GEDCOM X, reduced for the demo. */
export interface Person {
  readonly id: string
  readonly display: { readonly name: string; readonly lifespan: string; readonly birthPlace: string }
}

/** A place with its standard name. */
export interface Place {
  readonly id: string
  readonly name: string
  readonly latitude: number
  readonly longitude: number
}

const person = (id: string, name: string, lifespan: string, birthPlace: string): Person => ({
  id,
  display: { name, lifespan, birthPlace },
})

export const persons: ReadonlyMap<string, Person> = new Map(
  [
    person('LWB1-ADA', 'Augusta Ada King, Countess of Lovelace', '1815–1852', 'London, England'),
    person('LWB2-GGB', 'George Gordon Byron', '1788–1824', 'London, England'),
    person('LWB3-AIM', 'Anne Isabella Milbanke', '1792–1860', 'Seaham, England'),
    person('LWB4-WKG', 'William King-Noel', '1805–1893', 'London, England'),
    person('LWB5-AIB', 'Anne Isabella Noel Blunt', '1837–1917', 'London, England'),
  ].map((entry) => [entry.id, entry]),
)

export const places: readonly Place[] = [
  { id: '1', name: 'London, England, United Kingdom', latitude: 51.507, longitude: -0.128 },
  { id: '2', name: 'Londonderry, Northern Ireland, United Kingdom', latitude: 54.997, longitude: -7.309 },
  { id: '3', name: 'Seaham, Durham, England, United Kingdom', latitude: 54.839, longitude: -1.342 },
  { id: '4', name: 'Salt Lake City, Utah, United States', latitude: 40.761, longitude: -111.891 },
]
